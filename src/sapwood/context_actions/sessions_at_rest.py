"""Context commands on sessions of other programs that are at rest.

The session is found and imported, the command goes through the conversation service, which refuses
a session that is open, and the program's own session is then brought to the new history. A
conversation of Sapwood's own gets the same command.
"""

from collections.abc import Generator
from contextlib import contextmanager

from msgspec import Struct

from sapwood.context_actions.session_finder import NoSession, SessionFinder
from sapwood.context_actions.session_fork import SessionForker
from sapwood.conversation.answers import Answer, Forked, PromptToEdit
from sapwood.conversation.call import OpenSpace
from sapwood.conversation.script import CommandStep
from sapwood.conversation.service import ConversationService
from sapwood.conversation.session_changes import SessionChanges
from sapwood.core.command_table import TABLE
from sapwood.core.commands import Configure, Fork
from sapwood.core.errors import RefusedError, SapwoodError, accepted
from sapwood.core.ids import AgentId, title_of
from sapwood.core.model_calls import Failure
from sapwood.core.plural import either
from sapwood.core.refusals import Imported, Refusal
from sapwood.core.settings import SettingsChange
from sapwood.core.state import State
from sapwood.programs.agent_provider import SessionBusy
from sapwood.programs.registry import program_title, programs_with, resume_command_for, runs_turns
from sapwood.programs.transcripts.session_files import FoundSession
from sapwood.tokens.counters import CachingCounter
from sapwood.turns.clock_and_ids import command_meta, new_agent_id
from sapwood.turns.open_agent import OpenAgent

_OTHER_WAY = ("compact", "fork")
"""Commands that have another form at the top, which takes a conversation of Sapwood's own."""


class SessionResult(Struct, frozen=True, omit_defaults=True):
    """What a command on a session led to.

    `program` and `session` name the session that continues, `resume` is the command that opens it;
    all are empty for a conversation of Sapwood's own. `events` counts what was recorded, and
    `prompt` is the text to edit after `edit`.
    """

    agent: AgentId
    program: str
    session: str
    message: str
    resume: str = ""
    events: int = 0
    prompt: str = ""
    child: AgentId | None = None


class SessionCommands:
    """Gives context commands for sessions of other programs."""

    def __init__(
        self,
        space: OpenSpace,
        service: ConversationService,
        sessions: SessionFinder,
        changes: SessionChanges,
    ) -> None:
        self._space = space
        self._service = service
        self._sessions = sessions
        self._changes = changes

    async def run(
        self, name: str, arguments: str = "", *, session: str = "", transcript: str = ""
    ) -> SessionResult:
        """Gives the command of this name for a session, by default for the folder's newest.

        Raises `NoSession`, `RefusedError` and `SapwoodError`.
        """
        agent, opened = await self._find(name, session, transcript)
        if name == "fork":
            return await self._fork(agent, opened.state, arguments)
        with self._counted(opened):
            answer = await self._service.answer(agent, CommandStep(TABLE[name], arguments))
        if isinstance(answer, Refusal):
            raise RefusedError(answer)
        return await self._result(agent, answer)

    @contextmanager
    def _counted(self, opened: OpenAgent) -> Generator[None]:
        """Counts only texts that no earlier command about this session has counted.

        If the log has the size of every turn in view, nothing is counted.
        """
        state, weight = opened.state, opened.live.weight
        counter = self._space.counter_for(state.settings.model)
        if state.session is None or (weight is not None and weight.counter == counter.name):
            yield
            return
        from sapwood.context_actions.turn_features_cache import TurnFeaturesCache

        known = state.session.session
        cache = TurnFeaturesCache(known.program, known.id, counter.name)
        if isinstance(counter, CachingCounter):
            counter.counts.update(cache.counts)
        yield
        if isinstance(counter, CachingCounter):
            cache.save(counter.counts)

    async def _find(self, name: str, session: str, transcript: str) -> tuple[AgentId, OpenAgent]:
        """The agent of the session; imports it if needed. `name` is that of the command."""
        target = await self._sessions.find(session, transcript)
        forker = SessionForker(self._space, self._sessions)
        agent = target if isinstance(target, str) else await forker.agent_at(target)
        opened = await self._space.dispatcher.open(agent)
        state = opened.state
        if state.session is None and state.origin is not None:
            raise RefusedError(Imported(agent, state.origin.source))
        if state.session is None and name in _OTHER_WAY:
            typed = target.id if isinstance(target, FoundSession) else session or agent
            titles = either(each.title for each in programs_with("provider"))
            raise NoSession(
                f"'{typed}' is not a session of {titles}. For a conversation in "
                f"Sapwood, type: sapwood {name} {agent}"
            )
        if state.session is not None and not runs_turns(state.session.session.program):
            raise RefusedError(Imported(agent, state.session.session.program))
        return agent, opened

    async def _fork(self, agent: AgentId, state: State, arguments: str) -> SessionResult:
        """Makes a child that continues in a new session of the same program."""
        words = arguments.split()
        if len(words) > 1:
            raise SapwoodError("Give only one mark: sapwood fork --session ID [MARK]")
        assert state.session is not None
        program = state.session.session.program
        await self._changes.prepare(agent, changes=False)
        mark, child = (words[0] if words else None), new_agent_id()
        name = title_of(f"Fork of {state.name or agent}")
        await self._give(Fork(agent, child, mark, name=name))
        model = state.settings.model
        executor = program if not model or model.startswith(program) else f"{program}:{model}"
        await self._give(Configure(child, SettingsChange(model=executor)))
        try:
            how = await self._changes.fork_session(child, program)
        except (SessionBusy, Failure) as error:
            raise SapwoodError(
                f"Forked into agent {child}, but {program_title(program)} does not have the "
                f"session yet: {error}"
            ) from error
        opened = await self._space.dispatcher.open(child)
        held = opened.state.session
        at = f" from {mark}" if mark else ""
        return SessionResult(
            agent,
            program,
            held.session.id if held else "",
            f"Forked{at}. Child: {child}. {how}",
            resume_command_for(program, held.session.id) if held else "",
            1,
            child=child,
        )

    async def _give(self, command: Fork | Configure) -> None:
        accepted(await self._space.dispatcher.dispatch(command, command_meta()))

    async def _result(self, agent: AgentId, answer: Answer) -> SessionResult:
        held = (await self._space.dispatcher.open(agent)).state.session
        program, session = (held.session.program, held.session.id) if held else ("", "")
        events = getattr(answer, "events", ())
        return SessionResult(
            agent,
            program,
            session,
            answer.message,
            resume_command_for(program, session) if held else "",
            len(events),
            answer.prompt if isinstance(answer, PromptToEdit) else "",
            answer.child if isinstance(answer, Forked) else None,
        )
