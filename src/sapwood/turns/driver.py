"""The turn loop: drives the open turn of an agent until it ends or has to wait.

Every round starts from the log: it runs the tool calls that have no result, calls the model if all
results are there, or completes the turn if the model has answered. The driver has no state of its
own, so after a crash any process continues the turn. It repeats no model call whose answer is
stored and no tool call that has finished.

The report of a child: its parent gets the final answer as mail, once for each goal.

The report is sent just before the turn of the goal ends. A worker that dies in between sends it
again under the same id, so the parent gets it once.
"""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import aclosing, suppress

from msgspec import Struct, structs

from sapwood.core.commands import (
    AddReply,
    Command,
    CompleteTurn,
    Configure,
    FailTurn,
    InterruptTurn,
    MakeCheckpoint,
    MaskResults,
    RecordDifference,
    RecordNative,
    Send,
)
from sapwood.core.content import Note, ReplyPart, Text, ToolCall
from sapwood.core.context import ROOT
from sapwood.core.decide.contexts import restarts_turn
from sapwood.core.errors import LogError, SpaceMoved
from sapwood.core.events import SYSTEM, Actor, AgentKilled, TurnInterrupted
from sapwood.core.ids import AgentId
from sapwood.core.live_path import LivePath
from sapwood.core.model_calls import Answer, Failure, FailureKind, ToolSpec
from sapwood.core.refusals import BudgetReached, Refusal
from sapwood.core.settings import SettingsChange
from sapwood.core.state import State
from sapwood.core.turn import Reply, Turn, shortened
from sapwood.core.turn_params import TurnParams
from sapwood.core.view import Request, check, view
from sapwood.programs.agent_provider import ProgramAccess, SyncResult, TurnEnd
from sapwood.programs.registry import ProgramExecutor, program_executor
from sapwood.turns.checkpoints import Checkpoints
from sapwood.turns.clock_and_ids import command_meta, now
from sapwood.turns.conversion import LAST_MOMENT
from sapwood.turns.dispatch import Dispatcher, Done
from sapwood.turns.log import MovableLog
from sapwood.turns.model_access import (
    ModelAccess,
    bounded_reply,
    hinted_stream,
    hints_of,
    manifest_of,
    params_of,
)
from sapwood.turns.open_agent import OpenAgent
from sapwood.turns.program_sessions import record_sync
from sapwood.turns.program_summary import ProgramSummaries
from sapwood.turns.provider_turn import STOPPED, ProgramTurns
from sapwood.turns.reply_stream import ReplyStream
from sapwood.turns.tool_calls import (
    CommandTool,
    OverBudget,
    Toolbox,
    ToolCalls,
    TurnLost,
    dispatch_in_turn,
    insist_in_turn,
)
from sapwood.turns.trace import Tracing, Untraced

_WATCH_AGAIN = 1.0


class Limits(Struct, frozen=True):
    """The limits of one turn.

    If a request is too long, tool results of more than `mask_over` characters are masked. `cut_off`
    is how many replies in a row may be cut off inside a tool call. The most model calls of a turn
    are a setting, `budget_turn_calls`.
    """

    mask_over: int = 2_000
    cut_off: int = 3


_OTHER_MODEL_HELPS: frozenset[FailureKind] = frozenset(
    {"overloaded", "no_network", "bad_key", "no_key", "no_model"}
)


class Driver:
    """Drives the agents of one space. `fallback` are models to go on with when one fails."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        models: ModelAccess,
        toolbox: Toolbox,
        commands: CommandTool | None,
        *,
        limits: Limits | None = None,
        tracing: Tracing | None = None,
        checkpoints: Checkpoints | None = None,
        programs: ProgramAccess | None = None,
        params: TurnParams | None = None,
        fallback: Sequence[str] = (),
    ) -> None:
        self._params = params or TurnParams()
        self.fallback = tuple(fallback)
        """May be replaced: the next failure uses the new ones."""
        self._log, self._space = dispatcher.log, dispatcher.space
        self._dispatcher = dispatcher
        self._models = models
        self._streams: dict[AgentId, ReplyStream] = {}
        self._ended_calls: dict[AgentId, int] = {}
        self._limits = limits or Limits()
        self._tracing = tracing or Untraced()
        self._tools = ToolCalls(dispatcher, toolbox, commands, self._tracing, checkpoints)
        self._files = self._tools.files
        self._program_access = programs
        self._programs = (
            ProgramTurns(dispatcher, programs, self._files) if programs is not None else None
        )

    async def drive(self, agent: AgentId) -> float | None:
        """Drives the open turn of an agent until it ends. Does nothing if no turn is open.

        Returns after how many seconds to drive again if a tool call has to wait, or if a program
        that runs the turn itself has a lease; else None. Also returns None if another worker drives
        the same turn, or if the turn waits for the answer of a person, which wakes the agent.

        Raises `SpaceMoved` if another database has the space: its workers continue the turn.
        """
        if isinstance(self._log, MovableLog):
            await self._log.require_here(self._space)
        opened = await self._dispatcher.open(agent)
        turn = opened.live.open
        if opened.state.status != "running" or turn is None:
            return None
        if (left := _seconds_held(opened.state)) > 0:
            return left
        with self._tracing.turn(opened.state) as ended:
            delay = await self._drive_until_stopped(opened)
            after = await self._dispatcher.last_seen(agent)
            if after.live.open is None:
                self._ended_calls.pop(agent, None)
            for last in after.live.turns[-1:]:
                if last.first == turn.first:
                    ended(last)
        return delay

    async def counted_by(self, agent: AgentId) -> tuple[str, str]:
        """The model and the owner of an agent, by which limits count its drives."""
        state = (await self._dispatcher.last_seen(agent)).state
        return state.settings.model, state.tags.owner if state.tags else ""

    async def _drive_until_stopped(self, opened: OpenAgent) -> float | None:
        agent = opened.state.agent
        work = asyncio.ensure_future(self._rounds(opened))
        watch = asyncio.ensure_future(self._stopped(agent, opened.state.version))
        try:
            await asyncio.wait({work, watch}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                work.cancel()
                await asyncio.wait({work})  # raises only if this drive is cancelled too
                if not work.cancelled():
                    work.result()
                watch.result()
                await self._keep_files_of_stopped(await self._dispatcher.open(agent))
                return None
            return work.result()
        finally:
            for task in (work, watch):
                task.cancel()
            await asyncio.gather(work, watch, return_exceptions=True)

    async def _stopped(self, agent: AgentId, version: int) -> None:
        """Returns when the turn is interrupted or the agent is killed. Raises `SpaceMoved`.

        If the log cannot be read, tries again later: the work may not need the log for a while.
        """
        while True:
            try:
                async for recorded in self._log.follow(self._space, agent, version):
                    if isinstance(recorded.event, TurnInterrupted | AgentKilled):
                        return
                    version = recorded.version
            except SpaceMoved:
                raise
            except LogError:
                await asyncio.sleep(_WATCH_AGAIN)
            else:
                return

    async def _rounds(self, opened: OpenAgent) -> float | None:
        agent = opened.state.agent
        while True:
            turn = opened.live.open
            if opened.state.status != "running" or turn is None:
                return None
            try:
                executor = program_executor(opened.state.settings.model)
                if executor is not None:
                    await self._run_in_program(opened, turn, executor)
                elif turn.open_calls:
                    params = self._params_of(opened.state)
                    if self._tools.wait_for_caller(turn, params):
                        return None  # the results wake the agent
                    parked = await self._tools.run(opened, turn, params)
                    if parked is not None:
                        return parked.delay
                elif turn.is_answered or restarts_turn(opened.state):
                    await self._end(opened, turn)
                else:
                    await self._ask(opened, turn)
            except TurnLost:
                return None
            except OverBudget as over:
                await self._stop(opened, turn, over.reached)
            opened = await self._dispatcher.last_seen(agent)

    # A program

    async def _run_in_program(
        self, opened: OpenAgent, turn: Turn, executor: ProgramExecutor
    ) -> None:
        """Has a program run the turn, and ends the turn as the program did."""
        if self._programs is None:
            failure = Failure("no_model", f"{executor.title} cannot be run here.")
            await self._failed(opened, turn, failure, 0)
            return
        try:
            end = await self._programs.run(opened, turn, executor)
        except Failure as failure:
            opened, turn = await self._open_turn(turn)
            await self._failed(opened, turn, failure, 0)
            return
        opened, turn = await self._open_turn(turn)
        if isinstance(end, BudgetReached):
            await self._stop(opened, turn, end)
            return
        native = (RecordNative(turn.agent, end.rows, turn=turn.first),) if end.rows else ()
        await self._end_as(opened, turn, end, executor, native)
        if end.difference:
            await self._record_difference(turn.agent, end.difference)

    async def _end_as(
        self,
        opened: OpenAgent,
        turn: Turn,
        end: TurnEnd,
        executor: ProgramExecutor,
        native: tuple[RecordNative, ...],
    ) -> None:
        agent = turn.agent
        if end.status == "completed":
            await self._end(opened, turn, *native)
        elif end.status == "interrupted" and end.reason == STOPPED:
            await self._finish(opened, turn, InterruptTurn(agent, turn=turn.first), *native)
        else:
            why = end.reason or (
                f"{executor.title} stopped in the middle of this turn. Its work so far is kept. To "
                "continue, send a message, for example 'Continue.'"
            )
            await report(self._dispatcher, opened.state, turn, why)
            failure: FailureKind = "cut" if end.status == "interrupted" else "other"
            failed = FailTurn(agent, why, failure=failure, turn=turn.first)
            await self._finish(opened, turn, failed, *native)

    async def _record_difference(self, agent: AgentId, difference: str) -> None:
        """Records that the program sent another history. Its session is made anew next time."""
        await self._do(RecordDifference(agent, difference))
        state = (await self._dispatcher.last_seen(agent)).state
        if state.session is not None:
            unknown = SyncResult(state.session.session, "nothing")
            await record_sync(self._dispatcher, state, unknown, ROOT)

    async def _open_turn(self, turn: Turn) -> tuple[OpenAgent, Turn]:
        """The agent and its open turn as they are now. Raises `TurnLost` if the turn has ended."""
        opened = await self._dispatcher.open(turn.agent)
        if opened.live.open is None or opened.live.open.first != turn.first:
            raise TurnLost
        return opened, opened.live.open

    # The model

    async def _ask(self, opened: OpenAgent, turn: Turn) -> None:
        agent = opened.state.agent
        replies = sum(isinstance(item, Reply) for item in turn.items)
        params = self._params_of(opened.state)
        limit = params.calls or opened.state.settings.budget_turn_calls
        if 0 < limit <= replies:
            await self._stop(opened, turn, BudgetReached("turn_calls", replies, limit))
            return
        if too_far := self._too_far(turn):
            await self._finish(
                opened, turn, FailTurn(agent, too_far, failure="other", turn=turn.first)
            )
            return
        request = view(opened.state, opened.live)
        faults = check(request, opened.state, opened.live)
        if faults:
            raise AssertionError(f"a bug in Sapwood: {'; '.join(faults)}")
        tools = await self._tools.offered(params)
        sent = params.sent(is_first=not replies)
        counter = self._dispatcher.counter_for(request.model)
        manifest = manifest_of(opened, request, tools, counter, params=sent)
        manifest = structs.replace(manifest, lost=self._lost_call(opened.state))
        stored = await self._dispatcher.dispatch(manifest, command_meta(SYSTEM))
        if isinstance(stored, BudgetReached):
            await self._stop(opened, turn, stored)
            return
        if isinstance(stored, Refusal):
            return  # the state has changed; the next round starts from the new one
        asked = stored.events[-1].version
        try:
            answer = await self._answer(opened, request, tools, sent, asked)
        except Failure as failure:
            self._ended_calls[agent] = asked
            await self._failed(opened, turn, failure, asked)
            return
        parts, model = _with_new_ids(answer.parts, opened.live), answer.model or request.model
        self._tools.hold(turn, parts)
        reply = AddReply(
            agent,
            parts,
            model,
            answer.usage,
            asked,
            answer.ended,
            answer.report,
            turn=turn.first,
        )
        await insist_in_turn(self._dispatcher, reply, Actor("model", model))

    def _params_of(self, state: State) -> TurnParams:
        return params_of(state, self._params)

    def _lost_call(self, state: State) -> int:
        """The version of a model call of this turn whose process ended before the reply; else 0."""
        asked = state.open.asked if state.open else 0
        return asked if asked != self._ended_calls.get(state.agent) else 0

    async def _stop(self, opened: OpenAgent, turn: Turn, reached: BudgetReached) -> None:
        """Ends the turn because a budget is used up."""
        await report(self._dispatcher, opened.state, turn, reached.sentence)
        failed = FailTurn(turn.agent, reached.sentence, failure="budget", turn=turn.first)
        await self._finish(opened, turn, failed)

    def _too_far(self, turn: Turn) -> str:
        """The limit that the turn has reached, as a sentence; empty if it may go on."""
        replies = [item for item in turn.items if isinstance(item, Reply)]
        last = replies[-self._limits.cut_off :]
        if len(last) == self._limits.cut_off and all(reply.unfinished for reply in last):
            return (
                f"Stopped: {len(last)} replies in a row were cut off in the middle of a tool call. "
                "Ask for smaller steps."
            )
        return ""

    async def _end(self, opened: OpenAgent, turn: Turn, *before: Command) -> None:
        """Completes an answered turn, with a summary if its model asked to compact."""
        if turn.is_answered:
            await report(self._dispatcher, opened.state, turn)
        deferred = opened.state.open.deferred if opened.state.open else None
        if deferred is not None and deferred.compact:
            from sapwood.turns.compaction import Compactor

            params = self._params_of(opened.state)
            tools = await self._tools.offered(params)
            models = self._models
            if self._program_access is not None and program_executor(opened.state.settings.model):
                models = ProgramSummaries(self._dispatcher, self._program_access, turn.agent)
            compactor = Compactor(self._dispatcher, models, tools, self._tracing, params)
            for command in before:
                await self._do(command)
            with suppress(Failure):  # without a summary the turn ends and nothing is trimmed
                done = await compactor.complete(turn.agent, deferred.keep or 0)
                if isinstance(done, Done) and done.events:
                    if files := await self._files.after(opened.state, turn):
                        await self._do(files)
                    return
        await self._finish(opened, turn, CompleteTurn(turn.agent, turn=turn.first), *before)

    async def _answer(
        self,
        opened: OpenAgent,
        request: Request,
        tools: Sequence[ToolSpec],
        params: Mapping[str, object],
        asked: int,
    ) -> Answer:
        """Returns the answer. Stores its words while they arrive, also those of a failed call."""
        state = opened.state
        agent, turn = state.agent, state.open.first if state.open else 0
        stream = ReplyStream(self._dispatcher, agent, turn, asked, request.model)
        self._streams[agent] = stream
        try:
            with self._tracing.call(state, request) as ended:
                pieces = bounded_reply(
                    hinted_stream(self._models, request, tools, hints_of(opened), params)
                )
                async with aclosing(pieces):
                    async for piece in pieces:
                        if isinstance(piece, Answer):
                            ended(await self._dispatcher.masked_answer(piece))
                            return piece
                        stream.add(piece)
                raise Failure("cut", "The model's answer ended before it was complete.", again=True)
        except Failure:
            await stream.flush()
            raise
        finally:
            self._streams.pop(agent, None)
            await stream.close()

    async def flush(self, agent: AgentId) -> None:
        """Stores every word of the reply that is arriving, before an interrupt.

        Stops a program that runs the turn, and stores what it did.
        """
        if self._programs is not None:
            await self._programs.stop(agent)
        if stream := self._streams.get(agent):
            await stream.flush()

    async def _failed(self, opened: OpenAgent, turn: Turn, failure: Failure, asked: int) -> None:
        """Fails the turn. Masks large results first if that makes a request shorter."""
        agent = turn.agent
        if failure.kind == "too_long":
            mask = MaskResults(agent, self._limits.mask_over)
            done = await self._dispatcher.dispatch(mask, command_meta(SYSTEM))
            if not isinstance(done, Refusal) and done.events:
                return  # something was masked; the next round sends the shorter request
        if asked and await self._use_fallback(turn, failure, asked):
            return
        await report(self._dispatcher, opened.state, turn, str(failure))
        retry_at = _moment_after(failure.after) if failure.kind == "overloaded" else 0
        failed = FailTurn(agent, str(failure), asked, failure.kind, retry_at, turn=turn.first)
        await self._finish(opened, turn, failed)

    async def _use_fallback(self, turn: Turn, failure: Failure, asked: int) -> bool:
        """Changes to the next model of the list, if another model may help. Returns whether.

        A reply of which words were shown is not asked for again.
        """
        if failure.kind not in _OTHER_MODEL_HELPS:
            return False
        opened, turn = await self._open_turn(turn)
        failed = opened.state.settings.model
        after = self.fallback.index(failed) + 1 if failed in self.fallback else 0
        usable = [each for each in self.fallback[after:] if program_executor(each) is None]
        words = await self._log.words(self._space, turn.agent)
        if not usable or (words is not None and words.asked == asked):
            return False
        why = f"{failed} failed: {failure}"
        change = Configure(turn.agent, SettingsChange(model=usable[0]), why)
        done = await self._dispatcher.dispatch(change, command_meta(SYSTEM))
        return not isinstance(done, Refusal) and bool(done.events)

    # Files

    async def _finish(
        self,
        opened: OpenAgent,
        turn: Turn,
        end: CompleteTurn | FailTurn | InterruptTurn,
        *before: Command,
    ) -> None:
        """Ends the turn, in one commit with what comes before it and with its checkpoint."""
        files = await self._files.after(opened.state, turn)
        steps: list[Command] = [*before, end]
        if isinstance(files, MakeCheckpoint):
            steps.append(files)
        elif files is not None:  # readers stop at the end of the turn, so it is recorded before
            steps.insert(len(before), files)
        if len(steps) > 1:
            together = [(step, command_meta(SYSTEM)) for step in steps]
            if await self._dispatcher.dispatch_all(turn.agent, together) is not None:
                return
        for step in steps:
            await self._do(step)

    async def _keep_files_of_stopped(self, opened: OpenAgent) -> None:
        """Makes the checkpoint of a turn that was interrupted."""
        for turn in opened.live.turns[-1:]:
            if files := await self._files.after(opened.state, turn):
                await self._do(files)

    async def _do(self, command: Command, actor: Actor = SYSTEM) -> bool:
        return await dispatch_in_turn(self._dispatcher, command, actor)


def _with_new_ids(parts: tuple[ReplyPart, ...], live: LivePath) -> tuple[ReplyPart, ...]:
    """The parts with call ids that no turn in view has: some models start again at 1."""
    if not any(isinstance(part, ToolCall) for part in parts):
        return parts
    known = {id for turn in live.all_turns for id in turn.calls}
    renewed: list[ReplyPart] = []
    for part in parts:
        if isinstance(part, ToolCall):
            while part.id in known or not part.id:
                part = structs.replace(part, id=f"{part.id or 'call'}-{len(known)}")
            known.add(part.id)
        renewed.append(part)
    return tuple(renewed)


def _moment_after(seconds: float | None) -> int:
    """The moment after so many seconds; 0 if there is none that a date can show."""
    at = now() / 1_000_000 + (seconds or 0.0)
    return round(at * 1_000_000) if seconds and 0 < at * 1_000_000 <= LAST_MOMENT else 0


def _seconds_held(state: State) -> float:
    """For how many seconds a program that runs the open turn itself has the lease of it."""
    lease = state.open.lease if state.open else None
    return (lease.until - now()) / 1_000_000 if lease is not None else 0.0


async def report(dispatcher: Dispatcher, state: State, turn: Turn, failure: str = "") -> None:
    """Sends the answer of this turn to the parent, if the turn works on the goal of a child.

    `failure` is why the turn fails. A parent that can get no mail gets none.
    """
    if state.parent is None or not _has_goal(turn):
        return
    who = (
        f"Your child '{state.name}' ({state.agent})" if state.name else f"Your child {state.agent}"
    )
    if failure:
        text = f"{who} stopped without an answer: {failure}"
    else:
        text = f"{who} has finished. Its final answer:\n\n{_answer(turn)}"
    once = f"report:{state.agent}:{turn.first}"
    mail = Send(state.parent, once, text, sender=state.agent)
    await dispatcher.dispatch(mail, command_meta(SYSTEM, command=once, request=once))


def _has_goal(turn: Turn) -> bool:
    return any(isinstance(part, Note) and part.origin == "parent" for part in turn.prompt)


def _answer(turn: Turn) -> str:
    """The text of the last reply; a long one is cut, with a line on how to read it whole."""
    last = next((item for item in reversed(turn.items) if isinstance(item, Reply)), None)
    if last is None:
        return "(none)"
    text = "\n\n".join(part.text for part in last.parts if isinstance(part, Text))
    return shortened(text, f"{turn.agent}:{last.version}") or "(none)"
