"""The tool calls of an open turn: the driver runs each call once, and each gets a result.

If a process dies after a call has started, it is unknown whether the call took effect. The call is
not run again, and its result tells the model that the outcome is unknown.

`Toolbox` and `CommandTool` are the interfaces to the tools. `sapwood.workspace` provides toolboxes
and `sapwood.conversation.model_tool` the slash commands.

The exact arguments of tool calls that contain a secret, in memory only.

The log, the screens and the traces have the masked arguments. The tool gets the exact ones, because
what runs must be what the model asked for and a person approved: a key in a file, not its mask.
They are never stored. If the process stops before a call has run, its exact arguments are lost.
"""

import asyncio
import logging
import secrets
from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct, structs

from sapwood.core import refusals
from sapwood.core.command_table import SLASH as SLASH
from sapwood.core.commands import Command, FinishTool, StartTool
from sapwood.core.content import ReplyPart, ToolCall
from sapwood.core.errors import LogError, LogUnavailable
from sapwood.core.events import SYSTEM, Actor
from sapwood.core.ids import AgentId
from sapwood.core.model_calls import AnswerAwaited, Effect, ToolOutcome, ToolSpec, ToolUse
from sapwood.core.state import State
from sapwood.core.tags import Tags
from sapwood.core.turn import Reply, Result, Turn
from sapwood.core.turn_params import TurnParams
from sapwood.programs.program import READING_TOOLS
from sapwood.programs.registry import program, program_executor
from sapwood.turns.checkpoints import Checkpoints, TurnFiles
from sapwood.turns.clock_and_ids import command_meta, now
from sapwood.turns.dispatch import Dispatcher
from sapwood.turns.open_agent import OpenAgent
from sapwood.turns.trace import Tracing

_log = logging.getLogger("sapwood.tools")

_INSIST_TRIES = 600
"""How often an answer is stored again while the log is away, once in a second."""

_TRY_AGAIN = 1.0

_UNKNOWN_OUTCOME = (
    "The process that ran this call stopped before there was a result. "
    "It is unknown whether the call took effect: check before you run it again."
)
_SECRET_LOST = (
    "The arguments of this call contain a secret, which is stored masked. The process that had the "
    "exact text stopped before the call ran. The call was not run. Make it again."
)
_UNFINISHED = (
    "A length limit or a filter cut off your reply inside this call. "
    "The call was not run. Make it again in smaller pieces."
)


_NOT_OFFERED = "This tool is not offered in this turn. The call was not run."

_DEFECT = (
    "{name} failed because of a defect in Sapwood or in the tool ({error}). It is unknown whether "
    "the call took effect. Check, and find another way; the user can find the details in the log."
)


class Toolbox(Protocol):
    """A set of tools, such as those for files and shell, or those of an MCP server."""

    async def specs(self) -> Sequence[ToolSpec]:
        """The tools, in a stable order: they are part of the prefix that a provider caches."""
        ...

    def effect(self, use: ToolUse) -> Effect:
        """Whether this call changes anything outside of Sapwood."""
        ...

    async def run(self, use: ToolUse) -> ToolOutcome:
        """Runs the call. Returns errors of the tool as outcomes; cancelling it stops the tool."""
        ...

    async def close(self) -> None:
        """Stops the processes and connections of the tools."""
        ...


class WaitingCall(Struct, frozen=True):
    """The call has to wait: run it again after `delay` seconds, or when the agent is woken.

    Without `delay` it waits until the agent is woken. With `for_answer` it waits for a person, and
    so do the calls after it.
    """

    delay: float | None
    for_answer: bool = False


class CommandTool(Protocol):
    """The tool by which models use slash commands."""

    def spec(self) -> ToolSpec:
        """The description of the tool for the model."""
        ...

    def waits(self, call: ToolCall) -> bool:
        """Whether the call may have to wait. The start of such a call is stored in the log."""
        ...

    async def run(self, state: State, call: ToolCall, model: str) -> ToolOutcome | WaitingCall:
        """Runs the call. Returns its result, or how long it has to wait.

        Running the same call again has no further effect.
        """
        ...


class TurnLost(Exception):
    """The turn has ended or another worker drives it, so this worker has to stop."""


class OverBudget(Exception):
    """A tool call needed more than a budget allows, so the turn has to end."""

    def __init__(self, reached: refusals.BudgetReached) -> None:
        super().__init__(reached.sentence)
        self.reached = reached


async def dispatch_in_turn(dispatcher: Dispatcher, command: Command, actor: Actor = SYSTEM) -> bool:
    """Dispatches a command of the worker that drives a turn. Returns whether it was accepted.

    Raises `TurnLost` if the turn has ended or another worker drives it.
    """
    done = await dispatcher.dispatch(command, command_meta(actor))
    if isinstance(
        done, refusals.AskedAgain | refusals.CallStarted | refusals.TurnEnded | refusals.TurnHeld
    ):
        raise TurnLost
    _require_fit(done)
    return not isinstance(done, refusals.Refusal)


def _require_fit(done: object) -> None:
    """Raises `AssertionError` for a value of ours that cannot be stored.

    The turn would still be open, and its model would be asked again and again.
    """
    if isinstance(done, refusals.BadValue):
        raise AssertionError(f"a bug in Sapwood: {done.sentence}")


async def insist_in_turn(dispatcher: Dispatcher, command: Command, actor: Actor = SYSTEM) -> None:
    """Dispatches a command until the log takes it: an answer that is not stored is paid twice.

    Raises the last error if the log stays away, and `TurnLost` as `dispatch_in_turn` does.
    """
    meta = command_meta(actor)  # the same id each time: it is stored once
    for attempt in range(_INSIST_TRIES):
        try:
            done = await dispatcher.dispatch(command, meta)
        except LogUnavailable:
            if attempt == _INSIST_TRIES - 1:
                raise
            await asyncio.sleep(_TRY_AGAIN)
        else:
            if isinstance(done, refusals.AskedAgain | refusals.TurnEnded | refusals.TurnHeld):
                raise TurnLost
            _require_fit(done)
            return


async def offered_tools(
    toolbox: Toolbox, commands: CommandTool | None, params: TurnParams
) -> tuple[ToolSpec, ...]:
    """The tools that a model may call: those of the caller, and those with the given names."""
    own = () if commands is None else (commands.spec(),)
    every = (*own, *await toolbox.specs())
    only, callers = params.tools, params.caller_names
    offered = (
        spec for spec in every if (only is None or spec.name in only) and spec.name not in callers
    )
    theirs = (ToolSpec(t.name, t.description, t.schema) for t in params.caller_tools or ())
    return (*offered, *theirs)


class ToolCalls:
    """Runs the tool calls of turns. `files` saves the files that they may change.

    Without `commands`, models have no slash commands.
    """

    def __init__(
        self,
        dispatcher: Dispatcher,
        toolbox: Toolbox,
        commands: CommandTool | None,
        tracing: Tracing,
        checkpoints: Checkpoints | None = None,
    ) -> None:
        self.files = TurnFiles(checkpoints, self._may_change_files)
        self._dispatcher = dispatcher
        self._toolbox = toolbox
        self._commands = commands
        self._tracing = tracing
        self._exact_args = ExactArguments()
        self._added: dict[AgentId, tuple[int, frozenset[str]]] = {}

    def hold(self, turn: Turn, parts: Sequence[ReplyPart]) -> None:
        """Keeps the exact arguments of the calls of a reply until they have run."""
        self._exact_args.hold(turn.agent, turn.first, parts)

    async def offered(self, params: TurnParams) -> tuple[ToolSpec, ...]:
        """The tools that a model may call: those of the caller, and those with the given names."""
        return await offered_tools(self._toolbox, self._commands, params)

    def wait_for_caller(self, turn: Turn, params: TurnParams) -> bool:
        """Whether every call without a result is one that whoever gave the prompt runs."""
        names = params.caller_names
        calls = turn.open_calls
        return all(call.name in names and not _is_unfinished(turn, call) for call in calls)

    async def run(self, opened: OpenAgent, turn: Turn, params: TurnParams) -> WaitingCall | None:
        """Runs the calls that have no result: together if none has effects, else in order.

        A call of a tool that is not offered is not run, nor is one that the caller runs.

        Returns when to run again if a call has to wait, else None.
        """
        only, callers = params.tools, params.caller_names
        calls: list[ToolCall] = []
        for call in turn.open_calls:
            if call.name in callers:
                if _is_unfinished(turn, call):
                    await self._finish(turn, call, ToolOutcome(_UNFINISHED, error=True))
            elif only is not None and call.name not in only:
                await self._finish(turn, call, ToolOutcome(_NOT_OFFERED, error=True))
            else:
                calls.append(call)
        await self._toolbox.specs()  # after a restart, it knows no effects before
        if all(self._is_harmless(opened.state, call) for call in calls):
            ran = await asyncio.gather(*(self._run_tool(opened, turn, c) for c in calls))
        else:
            ran = await self._run_in_order(opened, turn, calls)
        parked = [each for each in ran if each is not None]
        delays = [each.delay for each in parked if each.delay is not None]
        return WaitingCall(min(delays, default=None)) if parked else None

    async def _run_in_order(
        self, opened: OpenAgent, turn: Turn, calls: Sequence[ToolCall]
    ) -> list[WaitingCall | None]:
        ran: list[WaitingCall | None] = []
        for call in calls:
            parked = await self._run_tool(opened, turn, call)
            ran.append(parked)
            if parked is not None and parked.for_answer:
                break
        return ran

    def _is_harmless(self, state: State, call: ToolCall) -> bool:
        return not self._is_command(call) and self._effect(state, call) == "none"

    def _effect(self, state: State, call: ToolCall) -> Effect:
        try:
            return self._toolbox.effect(_use(state, call))
        except Exception as error:
            self._defect(call, error)
            return "some"

    async def _run_tool(self, opened: OpenAgent, turn: Turn, call: ToolCall) -> WaitingCall | None:
        agent = opened.state.agent
        started = call.id in turn.started
        if (parked := _waits_for_answer(opened.state, call)) is not None:
            return parked
        if _is_unfinished(turn, call):
            outcome = ToolOutcome(_UNFINISHED, error=True)
        elif self._is_command(call):
            if not started and self._waits(call):
                await dispatch_in_turn(self._dispatcher, StartTool(agent, call.id, turn=turn.first))
            state = (await self._dispatcher.open(agent)).state
            outcome = await self._run_slash(state, call)
        elif self._is_harmless(opened.state, call):
            outcome = await self._run_own(opened, turn, call)
        elif started and self._effect(opened.state, call) != "keyed":
            outcome = ToolOutcome(_UNKNOWN_OUTCOME, error=True)
        elif started or await self._start_tool(opened, turn, call):
            outcome = await self._run_own(await self._dispatcher.open(agent), turn, call)
        else:
            return None
        if isinstance(outcome, WaitingCall):
            return outcome
        await self._finish(turn, call, outcome)
        if outcome.reached is not None:
            raise OverBudget(outcome.reached)
        return None

    async def _finish(self, turn: Turn, call: ToolCall, outcome: ToolOutcome) -> None:
        finish = FinishTool(
            turn.agent,
            call.id,
            outcome.content,
            outcome.error,
            outcome.blocked,
            outcome.diff,
            turn=turn.first,
        )
        if not await dispatch_in_turn(self._dispatcher, finish):
            # Without a result the turn could never end, so the model gets one that can be stored.
            error = ValueError("its result could not be stored")
            outcome = self._defect(call, error)
            finish = structs.replace(
                finish, content=outcome.content, error=True, blocked="", diff=""
            )
            await dispatch_in_turn(self._dispatcher, finish)

    async def _start_tool(self, opened: OpenAgent, turn: Turn, call: ToolCall) -> bool:
        """Records that a tool starts to have effects, after saving the files if it is the first."""
        if files := await self.files.before(opened.state, turn):
            await dispatch_in_turn(self._dispatcher, files)
        return await dispatch_in_turn(
            self._dispatcher, StartTool(opened.state.agent, call.id, turn=turn.first)
        )

    async def _run_slash(self, state: State, call: ToolCall) -> ToolOutcome | WaitingCall:
        with self._tracing.tool(state, call) as ended:
            try:
                assert self._commands is not None
                outcome = await self._commands.run(state, call, state.settings.model)
                if isinstance(outcome, WaitingCall):
                    return outcome
                masked = await self._masked(outcome)
            except (LogError, TurnLost):
                raise
            except Exception as error:
                masked = self._defect(call, error)
            ended(masked)
            return masked

    async def _run_own(
        self, opened: OpenAgent, turn: Turn, call: ToolCall
    ) -> ToolOutcome | WaitingCall:
        exact = self._exact_args.call(turn.agent, turn.first, call)
        if exact is None:
            return ToolOutcome(_SECRET_LOST, error=True)
        with self._tracing.tool(opened.state, call) as ended:
            try:
                use = structs.replace(_use(opened.state, exact), is_saved=_is_saved(opened, turn))
                outcome = self._with_instructions(opened, turn, await self._toolbox.run(use))
                masked = await self._masked(outcome)
            except AnswerAwaited as waits:
                return WaitingCall(waits.delay, for_answer=True)
            except (LogError, TurnLost):
                raise
            except Exception as error:
                masked = self._defect(call, error)
            ended(masked)
            return masked

    def _with_instructions(
        self, opened: OpenAgent, turn: Turn, outcome: ToolOutcome
    ) -> ToolOutcome:
        """Adds the instructions that are not in view. The result is stored, so replays have them.

        What left the view comes again with the next file of its folder.
        """
        if not outcome.instructions or outcome.error:
            return outcome
        added_in, added = self._added.get(turn.agent, (0, frozenset[str]()))
        if added_in != turn.first:
            added = frozenset[str]()
        content = outcome.content
        for name, text in outcome.instructions:
            head = f"[Instructions for files in {name.rpartition('/')[0]}, from {name}"
            if head not in added and not _is_in_view((*opened.live.turns, turn), head):
                fence = secrets.token_hex(4)
                content += f"\n\n{head}, up to {fence}]\n{text}\n[{fence}]"
                added |= {head}
        self._added[turn.agent] = (turn.first, added)
        return structs.replace(outcome, content=content)

    def _is_command(self, call: ToolCall) -> bool:
        return self._commands is not None and call.name == SLASH

    def _waits(self, call: ToolCall) -> bool:
        try:
            return self._commands is not None and self._commands.waits(call)
        except Exception as error:
            self._defect(call, error)
            return False

    def _defect(self, call: ToolCall, error: Exception) -> ToolOutcome:
        """Logs an exception that no tool should raise. Returns the model's result."""
        _log.error("The tool call %s of %s raised", call.id, call.name, exc_info=error)
        return ToolOutcome(_DEFECT.format(name=call.name, error=type(error).__name__), error=True)

    async def _masked(self, outcome: ToolOutcome) -> ToolOutcome:
        """The outcome with its secrets masked, as it will be stored: traces show no more."""
        content = await self._dispatcher.mask(outcome.content)
        blocked = await self._dispatcher.mask(outcome.blocked)
        return structs.replace(outcome, content=content, blocked=blocked)

    def _may_change_files(self, state: State, call: ToolCall) -> bool:
        if (executor := program_executor(state.settings.model)) is not None:
            return program(executor.program).tools.get(call.name) not in READING_TOOLS
        return not self._is_command(call) and not self._is_harmless(state, call)


def _is_in_view(turns: Sequence[Turn], words: str) -> bool:
    results = (item for turn in turns for item in turn.items if isinstance(item, Result))
    return any(words in result.content for result in results)


def _is_unfinished(turn: Turn, call: ToolCall) -> bool:
    return any(isinstance(item, Reply) and item.unfinished == call for item in turn.items)


def _is_saved(opened: OpenAgent, turn: Turn) -> bool:
    """Whether the files of the workspace were saved in this turn, before a call changed them."""
    files = opened.state.files
    return files is not None and bool(files.tree) and files.version > turn.first


def _waits_for_answer(state: State, call: ToolCall) -> WaitingCall | None:
    """How long a call waits for the answer of a person; None if it waits for none, or too long."""
    questions = state.open.questions if state.open else ()
    asked = next((each for each in questions if each.call == call.id), None)
    if asked is None:
        return None
    left = (asked.until - now()) / 1_000_000 if asked.until else None
    return None if left is not None and left <= 0 else WaitingCall(left, for_answer=True)


def _use(state: State, call: ToolCall) -> ToolUse:
    return ToolUse(
        state.agent,
        state.workspace,
        call,
        state.settings.permission_mode,
        tags=state.tags or Tags(),
        trace=state.open.trace if state.open else "",
        actor=state.open.actor if state.open else None,
    )


_MASK = "[secret: "


class ExactArguments:
    """Holds the arguments of the calls of the newest reply of each agent."""

    def __init__(self) -> None:
        self._held: dict[AgentId, tuple[int, dict[str, str]]] = {}

    def hold(self, agent: AgentId, turn: int, parts: Sequence[ReplyPart]) -> None:
        """Keeps the arguments of the calls in a reply, in place of those of earlier replies."""
        calls = {part.id: part.args for part in parts if isinstance(part, ToolCall)}
        if calls:
            self._held[agent] = (turn, calls)
        else:
            self._held.pop(agent, None)

    def call(self, agent: AgentId, turn: int, stored: ToolCall) -> ToolCall | None:
        """Returns the stored call with its exact arguments; None if they are lost."""
        if _MASK not in stored.args:
            return stored
        held_turn, calls = self._held.get(agent, (0, {}))
        exact = calls.get(stored.id) if held_turn == turn else None
        return None if exact is None else structs.replace(stored, args=exact)
