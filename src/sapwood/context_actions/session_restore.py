"""Puts a session back into its program, which deleted it: from the turns in Sapwood's log.

Claude Code and Codex delete sessions after some weeks. What Sapwood has imported stays in its log,
and is written again as a session that the program lists and resumes.
"""

import asyncio
from pathlib import Path

from msgspec import Struct

from sapwood.config.config_file import Config
from sapwood.config.folders import data_folder
from sapwood.context_actions.session_finder import Connect, NoSession, SessionFinder
from sapwood.conversation.call import OpenSpace
from sapwood.core.errors import SapwoodError
from sapwood.core.model_calls import Failure
from sapwood.core.plural import counted
from sapwood.core.program_session import ProgramSession
from sapwood.programs.agent_provider import History, ProviderOptions, SessionBusy, SyncResult
from sapwood.programs.installed_programs import make_provider
from sapwood.programs.registry import program, program_title, resume_command_for
from sapwood.programs.transcripts.discovery import program_homes
from sapwood.programs.transcripts.session_files import FoundSession
from sapwood.turns.program_sessions import read_history, record_sync


class RestoredSession(Struct, frozen=True):
    """A session that its program has again.

    `turns` counts those in view. `was_there` if the program had not deleted it, so that nothing was
    written. `loss` says what could not be written again.
    """

    session: ProgramSession
    turns: int = 0
    was_there: bool = False
    is_new_id: bool = False
    loss: str = ""

    @property
    def lines(self) -> tuple[str, ...]:
        """What to print, with what to type next."""
        title = program_title(self.session.program)
        resume = resume_command_for(self.session.program, self.session.id)
        if self.was_there:
            return (f"{title} still has this session. To continue, type: {resume}",)
        lines = [f"{title} has the session again: {counted(self.turns, 'turn')} in view."]
        if self.is_new_id:
            lines.append(f"It has a new id: {self.session.id}")
        if self.loss:
            lines.append(self.loss)
        lines.append(f"To continue, type: {resume}")
        return tuple(lines)


async def restore_session(
    space: OpenSpace, connect: Connect, config: Config, typed: str, target: str
) -> RestoredSession:
    """Writes a session that was imported from a program back into that program.

    `typed` is an agent, or the id of the session or its start. Raises `NoSession` if it is unknown,
    and `SapwoodError` if it is of another program or cannot be written.
    """
    found = await SessionFinder(Path.cwd(), config, connect).find(typed)
    if isinstance(found, FoundSession):
        _require_program(found.source, target, typed)
        there = ProgramSession(found.source, found.id, str(found.path))
        return RestoredSession(there, was_there=True)
    if not isinstance(found, str):
        raise NoSession(f"'{typed}' is not a session. Give the id of a session, or of an agent.")
    opened = await space.dispatcher.open(found)
    state = opened.state
    if state.session is None:
        raise NoSession(
            f"'{typed}' was not imported from another program. To continue it there, type: "
            f"sapwood continue {typed} --with {target}"
        )
    session = state.session.session
    _require_program(session.program, target, typed)
    if _is_there(session):
        return RestoredSession(session, was_there=True)
    history = await read_history(space.log, space.space, state, opened.live)
    options = ProviderOptions(
        folder=state.workspace.worktree or state.workspace.folder,
        system=state.settings.system,
        mode=state.settings.permission_mode,
    )
    try:
        synced = await _written(session, history, options)
    except (SessionBusy, Failure) as error:
        raise SapwoodError(f"The session could not be restored: {error}") from error
    await record_sync(space.dispatcher, state, synced)
    return RestoredSession(
        synced.session,
        turns=len(history.turns),
        is_new_id=synced.session.id != session.id,
        loss=synced.loss,
    )


async def _written(
    session: ProgramSession, history: History, options: ProviderOptions
) -> SyncResult:
    """Writes the session again. Raises `SessionBusy` and `Failure`."""
    target = program(session.program)
    if "session_writer" in target.parts:
        return await asyncio.to_thread(
            target.session_writer, session, history, options, data_folder()
        )
    provider = make_provider(target.name)
    try:
        return await provider.sync_session(session, history, options)
    finally:
        await provider.close()


def _require_program(source: str, target: str, typed: str) -> None:
    if source != target:
        raise SapwoodError(
            f"'{typed}' is a session of {program_title(source)}. To continue it in "
            f"{program_title(target)}, type: sapwood continue {typed} --with {target}"
        )


def _is_there(session: ProgramSession) -> bool:
    """Whether the program lists a session of this id."""
    home = program_homes()[session.program]
    return any(each.id == session.id for each in program(session.program).sessions.find(home))
