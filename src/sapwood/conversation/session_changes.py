"""Changes sessions of other programs that nobody has open: imports what is new, then syncs them.

A command is given to the log in between. If this process ends before the session has followed, the
next command on it sees that and brings the session to the present history.
"""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from sapwood.config.folders import data_folder
from sapwood.conversation.call import OpenSpace
from sapwood.core.errors import RefusedError, SapwoodError
from sapwood.core.events import SessionDiffered, SessionSynced
from sapwood.core.ids import AgentId
from sapwood.core.model_calls import Failure
from sapwood.core.program_session import ProgramSession
from sapwood.core.refusals import SessionInUse, SessionMissing
from sapwood.core.state import State
from sapwood.imports.importer import IDLE_SECONDS, Importer
from sapwood.imports.session_catch_up import catch_up
from sapwood.imports.session_lock import session_lock
from sapwood.private_files import locked
from sapwood.programs.agent_provider import AgentProvider, ProviderOptions, SessionBusy
from sapwood.programs.registry import (
    program_executor,
    program_title,
    resume_command_for,
    runs_turns,
)
from sapwood.programs.session_copy import extend_copy, newest_copy
from sapwood.programs.transcripts.discovery import NotATranscript, present_session
from sapwood.turns.program_sessions import (
    needs_sync,
    options_of,
    record_path,
    session_in,
    sync_history,
)


def lags_behind(state: State) -> bool:
    """Whether the agent is at rest and its session has another history than the live path."""
    executor = program_executor(state.settings.model)
    if executor is None or state.open is not None:
        return False
    known = session_in(state, executor.program) is not None
    return known and needs_sync(state, executor.program)


async def sync_session(
    space: OpenSpace, provider_of: Callable[[str], AgentProvider], agent: AgentId
) -> ProgramSession | None:
    """Brings the agent's session to the live path and records it; makes one if there is none.

    Returns the session; None if no program runs the agent, a turn is open, or there is nothing to
    put into a session. Raises `SessionBusy` if the session is open elsewhere, and `Failure`.
    """
    opened = await space.dispatcher.open(agent)
    executor = program_executor(opened.state.settings.model)
    if executor is None or opened.state.open is not None:
        return None
    provider = provider_of(executor.program)
    options = options_of(opened.state, executor)
    return await sync_history(space.dispatcher, provider, opened, options)


def extend_private_copy(transcript: Path, program: str) -> None:
    """Brings the private copy of a session that Sapwood has changed up to date.

    If the program deletes the session, it is restored from the copy, with the program's own rows.
    """
    copy = data_folder() / "sessions" / program / transcript.name
    if newest_copy(copy) is not None:
        with locked(copy):
            extend_copy(transcript, copy)


def waiting_change(state: State) -> str:
    """Says that the agent's session does not have its last change yet; empty if it has."""
    held = state.session
    if held is None or state.origin is None or not runs_turns(held.session.program):
        return ""
    if not needs_sync(state):
        return ""
    title = program_title(held.session.program)
    return f"{title} does not have the last change yet. {_effect(held.session)}"


def _effect(session: ProgramSession) -> str:
    command = resume_command_for(session.program, session.id)
    return f"This takes effect when you close the session: type /exit, then {command}"


def not_applied(session: ProgramSession, error: Exception) -> str:
    """Says why a session could not follow the log."""
    return (
        f"{program_title(session.program)} does not have the change yet: "
        f"{str(error).rstrip('.')}. It is saved, and the next command on this session applies it."
    )


async def bring_up_to_date(space: OpenSpace, agent: AgentId) -> str:
    """Records what is new in the session that an agent was imported from.

    Returns what to print about it: that a change waits, or that the log may be behind, and why.
    Returns nothing for other agents.
    """
    origin = (await space.dispatcher.open(agent)).state.origin
    if origin is None or not origin.path:
        return ""
    imported = ProgramSession(origin.source, origin.session, origin.path)
    present = await asyncio.to_thread(present_session, imported)
    if present is None:  # its program deleted it: the log has the newest that there is
        return ""
    importer = Importer(space, dispatcher=space.dispatcher)
    problem = ""
    try:
        problem = (await importer.bring(Path(present.path), present.program)).problem
    except NotATranscript:
        pass  # it cannot be read now
    except SapwoodError as error:
        problem = str(error)
    finally:
        await importer.close()
    if problem:
        return f"This may lack the newest turns of the session: {problem}"
    return waiting_change((await space.dispatcher.open(agent)).state)


_RECENT = 8


class SessionChanges:
    """Changes the sessions of the agents of one space. `provider_of` makes a program's provider.

    A provider may start its program to change a session: it is closed after each change.

    >>> SessionChanges.__name__
    'SessionChanges'
    """

    def __init__(
        self,
        space: OpenSpace,
        provider_of: Callable[[str], AgentProvider],
        *,
        later: bool = False,
    ) -> None:
        """With `later`, commands are stored also while a session is open. The session follows when
        it is closed: by the hook at its end, by a process that waits for it if no hook runs there,
        or at the next command.
        """
        self._space = space
        self._provider_of = provider_of
        self._later = later

    def exclusive(self, agent: AgentId) -> AbstractAsyncContextManager[None]:
        """No other process imports or changes the agent's session in the block.

        Hold it from `prepare` until the session was changed: an import between the two would take
        the change of the log for something that the program dropped.
        """
        return session_lock(self._space.address, self._space.space, agent)

    async def prepare(self, agent: AgentId, *, changes: bool = True) -> None:
        """Imports what is new in the agent's session.

        Raises `RefusedError` if it is open, or if its program has deleted it. A command that leaves
        the history as it is (no `changes`) may also be given then.
        """
        session = await self._present(agent, changes=changes)
        changes = changes and not self._later
        if changes:
            try:
                await self._provider_of(session.program).require_at_rest(session)
            except SessionBusy as busy:
                raise RefusedError(SessionInUse(str(busy))) from busy
        if not session.path:  # its program has stored nothing yet
            return
        if (await self._space.dispatcher.open(agent)).state.origin is None:
            space = self._space
            await catch_up(
                space.dispatcher, space.log, space.space, agent, lambda: self._is_in_use(session)
            )
            return
        # Nobody has the session open, so its last turn has ended, whatever its rows say.
        importer = Importer(
            self._space,
            idle_seconds=-1 if changes else IDLE_SECONDS,
            dispatcher=self._space.dispatcher,
        )
        try:
            await importer.bring(Path(session.path), session.program)
        except NotATranscript as error:
            if not changes:
                return
            raise RefusedError(SessionInUse(str(error))) from error
        finally:
            await importer.close()

    async def _present(self, agent: AgentId, *, changes: bool) -> ProgramSession:
        """The agent's session at its present path, which is recorded if it is another one.

        Raises `RefusedError` if the command `changes` a session that its program has deleted. Only
        one that was imported: Sapwood's own is written again by the next change.
        """
        session = await self.session(agent)
        if not session.path:
            return session
        state = (await self._space.dispatcher.open(agent)).state
        present = await asyncio.to_thread(present_session, session)
        if present is None:
            if changes and state.origin is not None:
                title = program_title(session.program)
                raise RefusedError(SessionMissing(title, session.program, session.id))
            return session
        if present != session:
            await record_path(self._space.dispatcher, state, present)
        return present

    async def _is_in_use(self, session: ProgramSession) -> bool:
        try:
            await self._provider_of(session.program).require_at_rest(session)
        except SessionBusy:
            return True
        return False

    async def sync_session(self, agent: AgentId) -> str:
        """Brings the session to the present history. Returns how to go on in the program.

        Never raises: if the session cannot follow now, the returned sentence says so.
        """
        before = await self.session(agent)
        if self._later:
            return _effect(before) if await self.is_behind(agent) else ""
        try:
            after = await self.apply(agent)
        except (SessionBusy, Failure) as error:
            if not await self.is_behind(agent):
                return ""  # the command changed nothing, so the session lacks nothing
            return not_applied(before, error)
        return await self.next_step(agent, before, after)

    async def apply(self, agent: AgentId) -> ProgramSession:
        """Brings the session to the present history. Returns the one that has it now.

        That is a new one if the session could not be changed in place. Raises `SessionBusy` and
        `Failure`.
        """
        before = await self.session(agent)
        opened = await self._space.dispatcher.open(agent)
        provider = self._provider_of(before.program)
        try:
            after = await sync_history(
                self._space.dispatcher, provider, opened, _options(opened.state), compare=True
            )
        finally:
            await provider.close()
        return after or before

    async def is_behind(self, agent: AgentId) -> bool:
        """Whether the agent's session does not have the present history yet."""
        return needs_sync((await self._space.dispatcher.open(agent)).state)

    async def fork_session(self, child: AgentId, program: str) -> str:
        """Makes a session of the program with the history of a child. Returns how to go on there.

        Raises `Failure` and `SessionBusy`.
        """
        space, opened = self._space, await self._space.dispatcher.open(child)
        provider = self._provider_of(program)
        try:
            session = await sync_history(space.dispatcher, provider, opened, _options(opened.state))
        finally:
            await provider.close()
        if session is None:
            return "It has no history yet, so there is no session to continue."
        return f"To continue, type: {resume_command_for(program, session.id)}"

    async def has_session(self, agent: AgentId) -> bool:
        """Whether the agent has a session in another program."""
        return (await self._space.dispatcher.open(agent)).state.session is not None

    async def session(self, agent: AgentId) -> ProgramSession:
        """The agent's session in another program, which it must have."""
        state = (await self._space.dispatcher.open(agent)).state
        assert state.session is not None, "the agent has no session in another program"
        return state.session.session

    async def next_step(
        self, agent: AgentId, before: ProgramSession, session: ProgramSession
    ) -> str:
        """How to go on in the program after a change, and what it could not carry."""
        lines = await self._warnings(agent)
        if session.id != before.id:
            lines.append("It continues in a new session; the old one does not change.")
        lines.append(f"To continue, type: {resume_command_for(session.program, session.id)}")
        return " ".join(lines)

    async def _warnings(self, agent: AgentId) -> list[str]:
        """What the newest change of the session could not carry, and what differs since."""
        space = self._space
        recent = await space.log.read(space.space, agent, 1, None, limit=_RECENT, backward=True)
        found: list[str] = []
        for each in recent:
            match each.event:
                case SessionDiffered(text):
                    found.insert(0, f"Warning: {text}")
                case SessionSynced(loss=loss):
                    return [loss, *found] if loss else found
                case _:
                    pass
        return []


def _options(state: State) -> ProviderOptions:
    return ProviderOptions(
        folder=state.workspace.worktree or state.workspace.folder,
        system=state.settings.system,
        mode=state.settings.permission_mode,
    )
