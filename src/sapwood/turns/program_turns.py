"""Runs turns in agent programs: saves the files, brings the session to the live path, sends."""

from collections.abc import Callable

from sapwood.core.ids import AgentId, Space
from sapwood.core.model_calls import Failure
from sapwood.core.program_session import ProgramSession
from sapwood.core.refusals import BudgetReached
from sapwood.core.token_count import Counter
from sapwood.core.turn import Turn
from sapwood.programs.agent_provider import (
    AgentProvider,
    Assumed,
    ProgramAccess,
    SessionBusy,
    TurnEnd,
)
from sapwood.programs.registry import ProgramExecutor
from sapwood.turns.checkpoints import TurnFiles
from sapwood.turns.dispatch import Dispatcher
from sapwood.turns.log import Log
from sapwood.turns.open_agent import OpenAgent
from sapwood.turns.program_sessions import (
    assume_history,
    options_of,
    record_assumed,
    session_in,
)
from sapwood.turns.provider_history import sent_prompt
from sapwood.turns.provider_turn import ProviderTurn
from sapwood.turns.tool_calls import dispatch_in_turn


class ProgramTurns:
    """Runs turns of the agents of one space in their programs."""

    def __init__(
        self,
        log: Log,
        space: Space,
        dispatcher: Dispatcher,
        programs: ProgramAccess,
        counter_for: Callable[[str], Counter],
        files: TurnFiles,
    ) -> None:
        self._log = log
        self._space = space
        self._dispatcher = dispatcher
        self._programs = programs
        self._counter_for = counter_for
        self._files = files
        self._running: dict[AgentId, ProviderTurn] = {}
        self._compared: set[str] = set()

    async def run(
        self, opened: OpenAgent, turn: Turn, executor: ProgramExecutor
    ) -> TurnEnd | BudgetReached:
        """Runs the open turn and returns how it ended. The caller ends it in the log.

        Returns the budget that is used up, if one is. Raises `Failure` if the program cannot run
        the turn, and `TurnLost` if another worker drives it.
        """
        agent = turn.agent
        provider = self._programs.provider(executor.program)
        await self._save_files(opened, turn)
        try:
            session = await self._session(provider, opened, turn, executor)
        except SessionBusy as busy:
            raise Failure("other", str(busy)) from busy
        run = ProviderTurn(
            self._dispatcher, self._programs, self._counter_for, provider, session, turn
        )
        self._running[agent] = run
        try:
            end = await run.finish(sent_prompt(opened.live))
        finally:
            self._running.pop(agent, None)
        return end

    async def stop(self, agent: AgentId) -> None:
        """Stops the program of this agent before its turn is interrupted in the log.

        Everything that has arrived is stored, also the place of the turn in the transcript.
        """
        if run := self._running.get(agent):
            await run.stop()

    async def _save_files(self, opened: OpenAgent, turn: Turn) -> None:
        """Saves the files before the program can change them, once for each turn."""
        files = (
            None
            if _has_begun(opened, turn)
            else await self._files.before_program(opened.state, turn)
        )
        if files is not None:
            await dispatch_in_turn(self._dispatcher, files)

    async def _session(
        self, provider: AgentProvider, opened: OpenAgent, turn: Turn, executor: ProgramExecutor
    ) -> ProgramSession:
        """The session with the agent's history, in a program that is running.

        The first turn in a session compares the session itself with the history. A turn that has
        begun does not: the session may have a part of it.
        """
        options = options_of(opened.state, executor)
        known = session_in(opened.state, provider.program)
        session = await assume_history(
            self._log,
            self._space,
            self._dispatcher,
            provider,
            opened,
            options,
            compare=known is not None
            and known.id not in self._compared
            and not _has_begun(opened, turn),
        )
        started = await provider.start(options, session)
        if session is None:
            await record_assumed(self._dispatcher, opened.state, Assumed(started, "nothing"))
        self._compared.add(started.id)
        return started


def _has_begun(opened: OpenAgent, turn: Turn) -> bool:
    """Whether the turn was sent to the program before, by this process or another one."""
    return bool(turn.items or (opened.state.open and opened.state.open.asked))
