"""Runs an open turn in an agent program, such as Claude Code, and stores what happens there.

The log gets the same events as from our own loop: a manifest before each message of the model, its
words as they arrive, the message, its tool calls with their results. The program runs the tools
itself. If a process ends in the middle of a turn, any worker sends the turn again with the same id;
what is stored already is not stored again.

Runs turns in agent programs: saves the files, brings the session to the live path, sends.
"""

import asyncio
from collections import Counter as Multiset
from collections.abc import Callable
from contextlib import suppress
from typing import assert_never

from msgspec import structs

from sapwood.core.commands import AddReply, CallModel, Command, FinishTool, RecordNative, StartTool
from sapwood.core.content import File, ReplyPart, Text, ToolCall, Usage
from sapwood.core.events import SYSTEM, Actor
from sapwood.core.ids import AgentId
from sapwood.core.model_calls import Delta, Failure
from sapwood.core.program_session import ProgramSession
from sapwood.core.refusals import BudgetReached, Refusal, StaleRequest
from sapwood.core.state import State
from sapwood.core.turn import Reply, Turn
from sapwood.core.view import view
from sapwood.programs.agent_provider import (
    AgentProvider,
    ProgramAccess,
    ProviderAnswer,
    ProviderEvent,
    ProviderQuestion,
    ProviderReply,
    ProviderResult,
    SessionBusy,
    SyncResult,
    TurnEnd,
)
from sapwood.programs.registry import ProgramExecutor
from sapwood.turns.checkpoints import TurnFiles
from sapwood.turns.clock_and_ids import command_meta
from sapwood.turns.dispatch import Dispatcher
from sapwood.turns.model_access import manifest_of
from sapwood.turns.open_agent import OpenAgent
from sapwood.turns.program_sessions import (
    options_of,
    record_sync,
    sent_prompt,
    session_in,
    sync_history,
)
from sapwood.turns.reply_stream import ReplyStream
from sapwood.turns.tool_calls import TurnLost, dispatch_in_turn, insist_in_turn

STOPPED = "stopped"
"""The reason of a turn that Sapwood itself stopped in the program."""

_PATIENCE = 10.0
"""Seconds to wait until a program has stopped, or until an interrupt is stored."""

_USAGE_WAITS = 0.5
"""Seconds for which the last reply of a turn waits for the usage that the turn's end reports."""

_NO_RESULT = "The program reported no result of this call."


class ProviderTurn:
    """One open turn in a program."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        programs: ProgramAccess,
        provider: AgentProvider,
        session: ProgramSession,
        turn: Turn,
    ) -> None:
        self._dispatcher = dispatcher
        self._programs = programs
        self._provider = provider
        self._session = session
        self._turn = turn
        self._stored = _StoredParts(turn)
        self._asked = 0
        self._stream: ReplyStream | None = None
        self._held: ProviderReply | None = None
        self._blocked: dict[str, str] = {}
        self._questions: set[asyncio.Task[None]] = set()
        self._events: asyncio.Queue[ProviderEvent | Exception] = asyncio.Queue()
        self._stopping = False
        self._stopped = asyncio.Event()

    async def finish(self, prompt: tuple[Text | File, ...]) -> TurnEnd | BudgetReached:
        """Sends the prompt and stores everything until the turn has ended in the program."""
        reached = await self._call()
        if reached is not None:
            return reached
        pump = asyncio.ensure_future(self._pump(prompt))
        try:
            while True:
                event = await self._next()
                if isinstance(event, Exception):
                    await self._release()
                    raise event
                if isinstance(event, TurnEnd):
                    return await self._ended(event)
                if (reached := await self._take(event)) is not None:
                    return reached
        finally:
            self._stopped.set()
            await self._close(pump)

    async def stop(self) -> None:
        """Stops the program, and waits until what it did is stored."""
        self._stopping = True
        if self._stream is not None:
            await self._stream.flush()
        with suppress(Failure, TimeoutError):
            async with asyncio.timeout(_PATIENCE):
                await self._provider.interrupt(self._session)
                await self._stopped.wait()

    async def _pump(self, prompt: tuple[Text | File, ...]) -> None:
        name = f"{self._turn.agent}:{self._turn.first}"
        try:
            async for event in self._provider.send(self._session, prompt, name):
                self._events.put_nowait(event)
                if isinstance(event, TurnEnd):
                    return
            ended = Failure("cut", "The program exited in the middle of the turn.", again=True)
            self._events.put_nowait(ended)
        except Exception as error:  # raised again by `finish`
            self._events.put_nowait(error)

    async def _close(self, pump: "asyncio.Future[None]") -> None:
        """Stops the program if its turn still runs, and everything that was started here."""
        for question in self._questions:
            question.cancel()
        if not pump.done():
            with suppress(Failure, TimeoutError):
                async with asyncio.timeout(_PATIENCE):
                    await self._provider.interrupt(self._session)
                    await asyncio.shield(pump)
        pump.cancel()
        await asyncio.gather(pump, *self._questions, return_exceptions=True)
        if self._stream is not None:
            await self._stream.flush()
            await self._stream.close()

    # What the program reports

    async def _take(
        self, event: Delta | ProviderReply | ProviderResult | ProviderQuestion
    ) -> BudgetReached | None:
        """Stores one event of the program. Returns the budget that is used up, if one is."""
        await self._release()
        match event:
            case Delta():
                if (reached := await self._call()) is not None:
                    return reached
                self._words().add(event)
            case ProviderReply():
                return await self._reply(event)
            case ProviderResult():
                await self._result(event)
            case ProviderQuestion():
                task = asyncio.ensure_future(self._question(event))
                self._questions.add(task)
                task.add_done_callback(self._questions.discard)
            case _:
                assert_never(event)
        return None

    async def _reply(self, event: ProviderReply) -> BudgetReached | None:
        parts = self._stored.new_parts(event.parts, self._dispatcher.masked)
        if not parts:
            return None
        if (reached := await self._call()) is not None:
            return reached
        event = structs.replace(event, parts=parts)
        if event.usage is None and not any(isinstance(part, ToolCall) for part in parts):
            self._held = event  # the end of the turn may report its usage
            return None
        await self._add_reply(event)
        return None

    async def _next(self) -> ProviderEvent | Exception:
        """The next event. A reply does not wait long for its usage."""
        if self._held is None:
            return await self._events.get()
        try:
            return await asyncio.wait_for(self._events.get(), _USAGE_WAITS)
        except TimeoutError:
            await self._release()
            return await self._events.get()

    async def _release(self, usage: Usage | None = None) -> None:
        """Stores the reply that waits for its usage, if there is one."""
        if (held := self._held) is not None:
            self._held = None
            await self._add_reply(structs.replace(held, usage=usage))

    async def _add_reply(self, event: ProviderReply) -> None:
        turn, asked, usage = self._turn, self._asked, event.usage
        if self._stream is not None:
            await self._stream.close()
            self._stream = None
        if usage is not None and not usage.cost:
            price = self._programs.price(event.model, usage)
            usage = structs.replace(usage, cost=price)
        self._asked = 0
        await insist_in_turn(
            self._dispatcher,
            AddReply(
                turn.agent, event.parts, event.model, usage, asked, event.ended, turn=turn.first
            ),
            Actor("model", event.model),
        )
        for part in event.parts:
            if isinstance(part, ToolCall):
                await self._do(StartTool(turn.agent, part.id, turn=turn.first))

    async def _result(self, event: ProviderResult) -> None:
        await self._do(
            FinishTool(
                self._turn.agent,
                event.call,
                event.content,
                event.error,
                self._blocked.pop(event.call, ""),
                event.diff,
                turn=self._turn.first,
            )
        )

    async def _question(self, event: ProviderQuestion) -> None:
        """Answers a question of the program, which waits until it has the answer."""
        try:
            state = (await self._dispatcher.last_seen(self._turn.agent)).state
            permit = await self._programs.permit(state, event)
            if permit.blocked:
                self._blocked[event.call] = permit.blocked
            answer = ProviderAnswer(permit.allowed, permit.reason)
            await self._provider.answer(self._session, event.question, answer)
        except Exception as error:  # raised again by `finish`
            self._events.put_nowait(error)

    async def _ended(self, end: TurnEnd) -> TurnEnd:
        await self._release(end.usage)
        if end.status != "interrupted":
            await self._close_calls()
        if not self._stopping:
            return end
        if self._stream is not None:
            await self._stream.flush()
        if end.rows is not None:
            await self._do(RecordNative(self._turn.agent, end.rows, turn=self._turn.first))
        self._stopped.set()
        # The command that interrupts the turn comes now, and the driver stops this task.
        await asyncio.sleep(_PATIENCE)
        return structs.replace(end, status="interrupted", reason=STOPPED)

    # The log

    async def _call(self) -> BudgetReached | None:
        """Stores the manifest of the next message, if that of the last one has its reply."""
        if self._asked:
            return None
        await self._close_calls()
        for _ in range(3):
            opened = await self._dispatcher.open(self._turn.agent)
            if opened.live.open is None or opened.live.open.first != self._turn.first:
                raise TurnLost
            if (reached := _turn_budget(opened.state, opened.live.open)) is not None:
                return reached
            stored = await self._dispatcher.dispatch(self._manifest(opened), command_meta(SYSTEM))
            if isinstance(stored, BudgetReached):
                return stored
            if not isinstance(stored, Refusal):
                self._asked = stored.events[-1].version
                return None
            if not isinstance(stored, StaleRequest):
                raise TurnLost
        raise TurnLost

    def _manifest(self, opened: OpenAgent) -> CallModel:
        request = view(opened.state, opened.live)
        manifest = manifest_of(opened, request, (), self._dispatcher.counter_for(request.model))
        lost = opened.state.open.asked if opened.state.open else 0
        # Without an estimate: the program's own prompts and tools would distort the calibration.
        return structs.replace(manifest, estimate=0, lost=lost)

    async def _close_calls(self) -> None:
        """Gives a result to every call of the turn that the program has left behind."""
        opened = await self._dispatcher.last_seen(self._turn.agent)
        for call in opened.live.open.open_calls if opened.live.open else ():
            await self._result(ProviderResult(call.id, _NO_RESULT, error=True))

    def _words(self) -> ReplyStream:
        if self._stream is None:
            turn = self._turn
            self._stream = ReplyStream(
                self._dispatcher, turn.agent, turn.first, self._asked, self._session.program
            )
        return self._stream

    async def _do(self, command: Command) -> None:
        await dispatch_in_turn(self._dispatcher, command)


class _StoredParts:
    """The parts of replies that an earlier worker stored: a program that is asked again for a turn
    reports them once more.
    """

    def __init__(self, turn: Turn) -> None:
        parts = [part for item in turn.items if isinstance(item, Reply) for part in item.parts]
        self._calls = {part.id for part in parts if isinstance(part, ToolCall)}
        self._texts = Multiset(part.text for part in parts if not isinstance(part, ToolCall))

    def new_parts(
        self, parts: tuple[ReplyPart, ...], mask: Callable[[str], str]
    ) -> tuple[ReplyPart, ...]:
        """The parts that are not stored yet."""
        return tuple([part for part in parts if not self._is_stored(part, mask)])

    def _is_stored(self, part: ReplyPart, mask: Callable[[str], str]) -> bool:
        if isinstance(part, ToolCall):
            return part.id in self._calls
        if not self._texts:
            return False
        text = mask(part.text)
        if not self._texts[text]:
            return False
        self._texts[text] -= 1
        return True


def _turn_budget(state: State, turn: Turn) -> BudgetReached | None:
    replies = sum(isinstance(item, Reply) for item in turn.items)
    limit = state.settings.budget_turn_calls
    return BudgetReached("turn_calls", replies, limit) if 0 < limit <= replies else None


class ProgramTurns:
    """Runs turns of the agents of one space in their programs."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        programs: ProgramAccess,
        files: TurnFiles,
    ) -> None:
        self._dispatcher = dispatcher
        self._programs = programs
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
        run = ProviderTurn(self._dispatcher, self._programs, provider, session, turn)
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
        session = await sync_history(
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
            await record_sync(self._dispatcher, opened.state, SyncResult(started, "nothing"))
        self._compared.add(started.id)
        return started


def _has_begun(opened: OpenAgent, turn: Turn) -> bool:
    """Whether the turn was sent to the program before, by this process or another one."""
    return bool(turn.items or (opened.state.open and opened.state.open.asked))
