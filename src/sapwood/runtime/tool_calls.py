"""The tool calls of an open turn: each is run once, by whoever drives the turn, and has a result.

Of a call that had started when its process died nobody knows what it did, and the model is told so.
"""

import asyncio

from msgspec import structs

from sapwood.core.calling import ToolOutcome, ToolSpec, ToolUse
from sapwood.core.commands import FinishTool, StartTool
from sapwood.core.content import ToolCall
from sapwood.core.state import State
from sapwood.core.turn import Reply, Turn
from sapwood.runtime.checkpointing import TurnFiles
from sapwood.runtime.checkpoints import Checkpoints
from sapwood.runtime.dispatch import Dispatcher
from sapwood.runtime.opening import Opened
from sapwood.runtime.overtaking import give
from sapwood.runtime.slash_tool import SLASH, SlashTool, slash_spec, waits
from sapwood.runtime.toolbox import Toolbox
from sapwood.runtime.tracing import Tracing
from sapwood.runtime.waiting import Parked

__all__ = ["ToolCalls"]

_UNKNOWN_OUTCOME = (
    "The process that ran this stopped before it had a result. "
    "Whether it took effect is unknown: look before you run it again."
)
_UNFINISHED = (
    "This call was cut off in the middle, with your reply, by a limit of length or a filter. "
    "It was not run. Do it again in smaller pieces."
)


class ToolCalls:
    """Runs the calls of turns. `files` are those that the turns may change."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        toolbox: Toolbox,
        slash: SlashTool,
        tracing: Tracing,
        checkpoints: Checkpoints | None = None,
    ) -> None:
        self.files = TurnFiles(checkpoints, self._may_change_files)
        self._dispatcher = dispatcher
        self._toolbox = toolbox
        self._slash = slash
        self._tracing = tracing

    async def offered(self) -> tuple[ToolSpec, ...]:
        """Every tool that a model may call."""
        return (slash_spec(), *await self._toolbox.specs())

    async def run(self, opened: Opened, turn: Turn) -> float | None:
        """Runs what has no result: together if nothing has effects, else one after the other.

        Returns when to look again, if a call waits.
        """
        calls = turn.open_calls
        if all(self._is_harmless(opened.state, call) for call in calls):
            parked = await asyncio.gather(*(self._run_tool(opened, turn, c) for c in calls))
        else:
            parked = [await self._run_tool(opened, turn, call) for call in calls]
        delays = [each for each in parked if each is not None]
        return min(delays) if delays else None

    def _is_harmless(self, state: State, call: ToolCall) -> bool:
        return call.name != SLASH and self._toolbox.effect(_use(state, call)) == "none"

    async def _run_tool(self, opened: Opened, turn: Turn, call: ToolCall) -> float | None:
        agent = opened.state.agent
        started = call.id in turn.started
        if _is_unfinished(turn, call):
            outcome = ToolOutcome(_UNFINISHED, error=True)
        elif call.name == SLASH:
            if not started and waits(call):
                await give(self._dispatcher, StartTool(agent, call.id, turn=turn.first))
            state = (await self._dispatcher.open(agent)).state
            outcome = await self._run_slash(state, call)
            if isinstance(outcome, Parked):
                return outcome.delay
        elif self._is_harmless(opened.state, call):
            outcome = await self._run_own(opened, call)
        elif started:
            outcome = ToolOutcome(_UNKNOWN_OUTCOME, error=True)
        elif await self._start_tool(opened, turn, call):
            outcome = await self._run_own(opened, call)
        else:
            return None
        finish = FinishTool(agent, call.id, outcome.content, outcome.error, turn=turn.first)
        await give(self._dispatcher, finish)
        return None

    async def _start_tool(self, opened: Opened, turn: Turn, call: ToolCall) -> bool:
        """Records that a tool is about to have effects; the first of a turn finds files saved."""
        if files := await self.files.before(opened.state, turn):
            await give(self._dispatcher, files)
        return await give(self._dispatcher, StartTool(opened.state.agent, call.id, turn=turn.first))

    async def _run_slash(self, state: State, call: ToolCall) -> ToolOutcome | Parked:
        with self._tracing.tool(state, call) as ended:
            outcome = await self._slash.run(state, call, state.settings.model)
            if isinstance(outcome, Parked):
                return outcome
            masked = self._masked(outcome)
            ended(masked)
            return masked

    async def _run_own(self, opened: Opened, call: ToolCall) -> ToolOutcome:
        with self._tracing.tool(opened.state, call) as ended:
            masked = self._masked(await self._toolbox.run(_use(opened.state, call)))
            ended(masked)
            return masked

    def _masked(self, outcome: ToolOutcome) -> ToolOutcome:
        """The outcome as it will be stored: a trace shows no more than the log."""
        return structs.replace(outcome, content=self._dispatcher.masked(outcome.content))

    def _may_change_files(self, state: State, call: ToolCall) -> bool:
        return call.name != SLASH and not self._is_harmless(state, call)


def _is_unfinished(turn: Turn, call: ToolCall) -> bool:
    return any(isinstance(item, Reply) and item.unfinished == call for item in turn.items)


def _use(state: State, call: ToolCall) -> ToolUse:
    return ToolUse(state.agent, state.workspace, call)
