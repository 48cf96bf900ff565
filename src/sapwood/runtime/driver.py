"""The turn loop: drives the open turn of an agent until it ends or has to wait.

Every round starts from the log: it runs the tool calls that have no result, calls the model if all
results are there, or completes the turn if the model has answered. The driver has no state of its
own, so after a crash any process continues the turn. It repeats no model call whose answer is
stored and no tool call that has finished.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress

from msgspec import Struct, structs

from sapwood.core.commands import (
    AddReply,
    Command,
    CompleteTurn,
    FailTurn,
    MaskResults,
    MissCheckpoint,
)
from sapwood.core.content import ReplyPart, ToolCall
from sapwood.core.decide.contexts import restarts_turn
from sapwood.core.errors import LogAway, LogError
from sapwood.core.events import SYSTEM, Actor, AgentKilled, TurnInterrupted
from sapwood.core.ids import AgentId, Space
from sapwood.core.model_calls import Answer, Failure, ToolSpec
from sapwood.core.refusals import AskedAgain, BudgetReached, Refusal, TurnEnded
from sapwood.core.state import State
from sapwood.core.token_count import Counter
from sapwood.core.turn import Reply, Turn
from sapwood.core.view import Request, check, view
from sapwood.runtime.checkpoints import Checkpoints
from sapwood.runtime.child_report import report
from sapwood.runtime.clock_and_ids import command_meta
from sapwood.runtime.compaction import Compactor
from sapwood.runtime.dispatch import Dispatcher, Done
from sapwood.runtime.log import Log
from sapwood.runtime.model_access import ModelAccess, manifest_of
from sapwood.runtime.open_agent import OpenAgent
from sapwood.runtime.reply_stream import ReplyStream
from sapwood.runtime.tool_calls import (
    CommandTool,
    OverBudget,
    Toolbox,
    ToolCalls,
    TurnLost,
    dispatch_in_turn,
)
from sapwood.runtime.trace import Tracing, Untraced

__all__ = ["Driver", "Limits"]

_WATCH_AGAIN = 1.0

_INSIST_TRIES = 600
"""How often the driver tries to store an answer while the log is away, once in a second."""


class Limits(Struct, frozen=True):
    """The limits of one turn.

    If a request is too long, tool results of more than `mask_over` characters are masked. `cut_off`
    is how many replies in a row may be cut off inside a tool call. The most model calls of a turn
    are a setting, `budget_turn_calls`.
    """

    mask_over: int = 2_000
    cut_off: int = 3


class Driver:
    """Drives the agents of one space."""

    def __init__(
        self,
        log: Log,
        space: Space,
        dispatcher: Dispatcher,
        models: ModelAccess,
        toolbox: Toolbox,
        commands: CommandTool,
        counter_for: Callable[[str], Counter],
        *,
        limits: Limits | None = None,
        tracing: Tracing | None = None,
        checkpoints: Checkpoints | None = None,
    ) -> None:
        self._log = log
        self._space = space
        self._dispatcher = dispatcher
        self._models = models
        self._counter_for = counter_for
        self._streams: dict[AgentId, ReplyStream] = {}
        self._ended_calls: dict[AgentId, int] = {}
        self._limits = limits or Limits()
        self._tracing = tracing or Untraced()
        self._tools = ToolCalls(dispatcher, toolbox, commands, self._tracing, checkpoints)
        self._files = self._tools.files

    async def drive(self, agent: AgentId) -> float | None:
        """Drives the open turn of an agent until it ends. Does nothing if no turn is open.

        Returns after how many seconds to drive again if a tool call has to wait, else None. Also
        returns None if another worker drives the same turn.
        """
        opened = await self._dispatcher.open(agent)
        turn = opened.live.open
        if opened.state.status != "running" or turn is None:
            return None
        with self._tracing.turn(opened.state) as ended:
            delay = await self._drive_until_stopped(opened)
            after = await self._dispatcher.last_seen(agent)
            for last in after.live.turns[-1:]:
                if last.first == turn.first:
                    ended(last)
        return delay

    async def _drive_until_stopped(self, opened: OpenAgent) -> float | None:
        agent = opened.state.agent
        work = asyncio.ensure_future(self._rounds(opened))
        watch = asyncio.ensure_future(self._stopped(agent, opened.state.version))
        try:
            await asyncio.wait({work, watch}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                work.cancel()
                with suppress(asyncio.CancelledError):
                    await work
                await self._keep_files_of_stopped(await self._dispatcher.open(agent))
                return None
            return work.result()
        finally:
            for task in (work, watch):
                task.cancel()
            await asyncio.gather(work, watch, return_exceptions=True)

    async def _stopped(self, agent: AgentId, version: int) -> None:
        """Returns when the turn is interrupted or the agent is killed.

        If the log cannot be read, tries again later: the work may not need the log for a while.
        """
        while True:
            try:
                async for recorded in self._log.follow(self._space, agent, version):
                    if isinstance(recorded.event, TurnInterrupted | AgentKilled):
                        return
                    version = recorded.version
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
                if turn.open_calls:
                    parked = await self._tools.run(opened, turn)
                    if parked is not None:
                        return parked
                elif turn.is_answered or restarts_turn(opened.state):
                    await self._end(opened, turn)
                else:
                    await self._ask(opened, turn)
            except TurnLost:
                return None
            except OverBudget as over:
                await self._stop(opened, turn, over.reached)
            opened = await self._dispatcher.last_seen(agent)

    # The model

    async def _ask(self, opened: OpenAgent, turn: Turn) -> None:
        agent = opened.state.agent
        replies = sum(isinstance(item, Reply) for item in turn.items)
        if 0 < opened.state.settings.budget_turn_calls <= replies:
            limit = opened.state.settings.budget_turn_calls
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
            raise AssertionError(f"a defect in Sapwood: {'; '.join(faults)}")
        tools = await self._tools.offered()
        manifest = manifest_of(opened, request, tools, self._counter_for(request.model))
        manifest = structs.replace(manifest, lost=self._lost_call(opened.state))
        stored = await self._dispatcher.dispatch(manifest, command_meta(SYSTEM))
        if isinstance(stored, BudgetReached):
            await self._stop(opened, turn, stored)
            return
        if isinstance(stored, Refusal):
            return  # the state has changed; the next round starts from the new one
        asked = stored.events[-1].version
        try:
            answer = await self._answer(opened.state, request, tools, asked)
        except Failure as failure:
            self._ended_calls[agent] = asked
            await self._failed(opened, turn, failure, asked)
            return
        parts, model = _with_new_ids(answer.parts, turn), answer.model or request.model
        self._tools.hold(turn, parts)
        reply = AddReply(agent, parts, model, answer.usage, asked, answer.ended, turn=turn.first)
        await self._insist(reply, Actor("model", model))

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
                f"Stopped: {len(last)} replies in a row were cut off before a tool call was whole. "
                "Ask for smaller steps."
            )
        return ""

    async def _end(self, opened: OpenAgent, turn: Turn) -> None:
        """Completes an answered turn, with a summary if its model asked to compact."""
        if turn.is_answered:
            await report(self._dispatcher, opened.state, turn)
        deferred = opened.state.open.deferred if opened.state.open else None
        if deferred is not None and deferred.compact:
            tools = await self._tools.offered()
            compactor = Compactor(
                self._dispatcher, self._models, self._counter_for, tools, self._tracing
            )
            with suppress(Failure):  # without a summary the turn ends and nothing is trimmed
                done = await compactor.complete(turn.agent, deferred.keep or 0)
                if isinstance(done, Done) and done.events:
                    if files := await self._files.after(opened.state, turn):
                        await self._do(files)
                    return
        await self._finish(opened, turn, CompleteTurn(turn.agent, turn=turn.first))

    async def _answer(
        self, state: State, request: Request, tools: Sequence[ToolSpec], asked: int
    ) -> Answer:
        """Returns the answer. Stores its words while they arrive, also those of a failed call."""
        agent, turn = state.agent, state.open.first if state.open else 0
        stream = ReplyStream(self._dispatcher, agent, turn, asked, request.model)
        self._streams[agent] = stream
        try:
            with self._tracing.call(state, request) as ended:
                async for piece in self._models.stream(request, tools):
                    if isinstance(piece, Answer):
                        ended(piece)
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
        """Stores every word of the reply that is arriving, for example before an interrupt."""
        if stream := self._streams.get(agent):
            await stream.flush()

    async def _insist(self, command: Command, actor: Actor = SYSTEM) -> None:
        """Dispatches a command until the log takes it: an answer that is not stored is paid twice.

        Raises the last error if the log stays away.
        """
        meta = command_meta(actor)  # the same id each time: it is stored once
        for attempt in range(_INSIST_TRIES):
            try:
                done = await self._dispatcher.dispatch(command, meta)
            except LogAway:
                if attempt == _INSIST_TRIES - 1:
                    raise
                await asyncio.sleep(_WATCH_AGAIN)
            else:
                if isinstance(done, AskedAgain | TurnEnded):
                    raise TurnLost
                return

    async def _failed(self, opened: OpenAgent, turn: Turn, failure: Failure, asked: int) -> None:
        """Fails the turn. Masks large results first if that makes a request shorter."""
        agent = turn.agent
        if failure.kind == "too_long":
            mask = MaskResults(agent, self._limits.mask_over)
            done = await self._dispatcher.dispatch(mask, command_meta(SYSTEM))
            if not isinstance(done, Refusal) and done.events:
                return  # something was masked; the next round sends the shorter request
        await report(self._dispatcher, opened.state, turn, str(failure))
        failed = FailTurn(agent, str(failure), asked, failure.kind, turn=turn.first)
        await self._finish(opened, turn, failed)

    # Files

    async def _finish(self, opened: OpenAgent, turn: Turn, end: CompleteTurn | FailTurn) -> None:
        """Ends the turn, in one commit with the checkpoint of the files after it."""
        files = await self._files.after(opened.state, turn)
        if files is not None:
            # Readers stop at the end of the turn, so a missed checkpoint is recorded before it.
            steps = (files, end) if isinstance(files, MissCheckpoint) else (end, files)
            both = [(step, command_meta(SYSTEM)) for step in steps]
            if await self._dispatcher.dispatch_all(turn.agent, both) is not None:
                return
        await self._do(end)
        if files is not None:
            await self._do(files)

    async def _keep_files_of_stopped(self, opened: OpenAgent) -> None:
        """Makes the checkpoint of a turn that was interrupted."""
        for turn in opened.live.turns[-1:]:
            if files := await self._files.after(opened.state, turn):
                await self._do(files)

    async def _do(self, command: Command, actor: Actor = SYSTEM) -> bool:
        return await dispatch_in_turn(self._dispatcher, command, actor)


def _with_new_ids(parts: tuple[ReplyPart, ...], turn: Turn) -> tuple[ReplyPart, ...]:
    """The parts with call ids that are unique in the turn: some models start again at 1."""
    known = set(turn.calls)
    renewed: list[ReplyPart] = []
    for part in parts:
        if isinstance(part, ToolCall):
            while part.id in known or not part.id:
                part = structs.replace(part, id=f"{part.id or 'call'}-{len(known)}")
            known.add(part.id)
        renewed.append(part)
    return tuple(renewed)
