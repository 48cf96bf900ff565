"""A thread that runs in an app server of ours: its turns, its questions, and its history."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Raw, Struct

from sapwood.core.content import PromptPart, Usage
from sapwood.core.model_calls import Delta, Failure
from sapwood.core.program_session import ProgramSession
from sapwood.providers.codex.app_server import (
    AppServer,
    Notification,
    RequestRefused,
    ServerEnded,
    ServerRequest,
)
from sapwood.providers.codex.history_change import HistoryChange
from sapwood.providers.codex.installed_program import PROGRAM
from sapwood.providers.codex.permissions import (
    Asked,
    answer_for,
    ask,
    permission_params,
    safe_answer,
)
from sapwood.providers.codex.request_check import difference_in_rows, difference_in_tokens
from sapwood.providers.codex.thread_history import (
    HistoryItem,
    RolloutReader,
    ThreadHistory,
    ThreadTurn,
)
from sapwood.providers.codex.turn_rows import TurnRows
from sapwood.runtime.agent_provider import (
    ProviderAnswer,
    ProviderEvent,
    ProviderOptions,
    SessionBusy,
    TurnEnd,
)

__all__ = ["LiveThread"]

_ROWS_SECONDS = 3.0
_INTERRUPT_SECONDS = 10.0
_POLL_SECONDS = 0.02


class _Item(Struct):
    type: str = ""
    id: str = ""
    changes: list["_FileChange"] = []


class _FileChange(Struct):
    path: str = ""
    diff: str = ""


class _TokenCount(Struct, rename="camel"):
    input_tokens: int = 0
    cached_input_tokens: int = 0
    cache_write_input_tokens: int = 0
    output_tokens: int = 0


class _TokenUsage(Struct):
    last: _TokenCount


class _TurnError(Struct, rename="camel"):
    message: str = ""
    additional_details: str | None = None


class _Turn(Struct):
    id: str = ""
    status: str = ""
    error: _TurnError | None = None


class _Params(Struct, rename="camel"):
    thread_id: str = ""
    turn_id: str = ""
    delta: str = ""
    summary_index: int = 0
    item: _Item | None = None
    turn: _Turn | None = None
    token_usage: _TokenUsage | None = None


_decode = msgspec.json.Decoder(_Params).decode
_WORDS = ("agentMessage", "reasoning", "userMessage", "plan")
"""Items that are words of the model or the user. All others are tools."""


class _RunningTurn:
    """What is known of the turn that runs now."""

    def __init__(self, rows: TurnRows, id: str) -> None:
        self.rows = rows
        self.id = id
        self.diffs: dict[str, str] = {}
        self.answered = 0
        self.tool_started = False
        self.end: _Turn | None = None

    @property
    def most(self) -> int:
        """How many replies have been announced, so that none comes before its deltas."""
        return self.answered + self.tool_started


class LiveThread:
    """A thread in a server of its own.

    `wanted` is the history that it was brought to last; the next turn is compared with it.
    """

    def __init__(
        self,
        server: AppServer,
        home: Path,
        opened: Mapping[str, Any],
        options: ProviderOptions,
    ) -> None:
        self.server = server
        self.options = options
        self.id = str(opened["thread"]["id"])
        self.path = Path(opened["thread"]["path"] or "")
        self.wanted: Sequence[HistoryItem] | None = None
        self._sandbox = opened.get("sandbox")
        self._reader = RolloutReader(home)
        self._running: _RunningTurn | None = None
        self._busy = False
        self._usage: Usage | None = None
        self._questions: dict[str, Asked] = {}
        self._asked = 0

    @property
    def session(self) -> ProgramSession:
        """The session as others name it."""
        return ProgramSession(PROGRAM, self.id, str(self.path))

    @property
    def usage(self) -> Usage | None:
        """The tokens of the last request that ran here."""
        return self._usage

    def fits(self, options: ProviderOptions) -> bool:
        """Whether the server can go on with these options: a model can be changed at any turn."""
        now = self.options
        return (now.folder, now.system, now.mode, now.environment) == (
            options.folder,
            options.system,
            options.mode,
            options.environment,
        )

    def require_idle(self) -> None:
        """Raises `SessionBusy` while a turn runs, or while the history changes.

        Codex itself accepts a change in the middle of a turn, and loses the turn.
        """
        if self._busy:
            raise SessionBusy("A turn is running in Codex. Wait for it, or interrupt it.")

    async def history(self) -> ThreadHistory:
        """The history in its files; empty before its first turn."""
        try:
            return await asyncio.to_thread(self._reader.read, self.path)
        except FileNotFoundError:
            return ThreadHistory()

    async def change(self, change: HistoryChange) -> None:
        """Reverts the thread and appends items. Raises `SessionBusy` while a turn runs."""
        self.require_idle()
        self._busy = True
        try:
            if change.before is not None:
                params = {"threadId": self.id, "beforeTurnId": change.before.id}
                reverted = await self.server.call("thread/revert", **params)
                self.path = Path(reverted["thread"]["path"])
            if change.items:
                items = [Raw(item.payload) for item in change.items]
                params = {"threadId": self.id, "items": items}
                await self.server.call_raw("thread/inject_items", params)
        finally:
            self._busy = False

    async def run_turn(
        self, prompt: tuple[PromptPart, ...], client: str
    ) -> AsyncIterator[ProviderEvent]:
        """Runs a turn, or repeats the events of one that the thread already has."""
        self.require_idle()
        history = await self.history()
        if (found := history.turn_of_client(client)) is not None:
            async for event in self._repeat(found):
                yield event
            return
        self._busy = True
        try:
            async for event in self._new_turn(prompt, client):
                yield event
        except (ServerEnded, RequestRefused) as error:
            raise Failure("cut", f"{error} The turn can be sent again.", again=True) from error
        finally:
            self._busy = False
            self._questions.clear()
            running, self._running = self._running, None
            if running is not None and running.end is None:
                await self.server.kill()  # nobody reads the turn's end

    async def _repeat(self, turn: ThreadTurn) -> AsyncIterator[ProviderEvent]:
        rows = TurnRows(turn.path, turn.first, turn.id)
        rows.read()
        for event in rows.new_events({}, at_once=True):
            yield event
        session = ProgramSession(PROGRAM, self.id, str(turn.path))
        native = rows.native(session)
        if rows.ending == "task_complete":
            yield TurnEnd("completed", rows=native)
        else:
            reason = "" if rows.ending else "Codex ended before the turn did."
            yield TurnEnd("interrupted", reason, native)

    async def _new_turn(
        self, prompt: tuple[PromptPart, ...], client: str
    ) -> AsyncIterator[ProviderEvent]:
        size = self.path.stat().st_size if self.path.exists() else 0
        self._forget_events()
        started = await self.server.call("turn/start", **self._turn_params(prompt, client))
        rows = TurnRows(self.path, size, str(started["turn"]["id"]))
        running = self._running = _RunningTurn(rows, str(started["turn"]["id"]))
        while running.end is None:
            message = await self.server.events.get()
            if message is None:
                raise ServerEnded("Codex ended in the middle of the turn.")
            if isinstance(message, ServerRequest):
                async for event in self._question(message, running):
                    yield event
            else:
                for event in self._notification(message, running):
                    yield event
        await self._wait_for_rows(lambda: bool(rows.ending), rows)
        for event in rows.new_events(running.diffs, at_once=True):
            yield event
        yield await self._turn_end(running)

    def _turn_params(self, prompt: tuple[PromptPart, ...], client: str) -> dict[str, Any]:
        texts: list[dict[str, object]] = [
            {"type": "text", "text": part.text, "text_elements": []} for part in prompt
        ]
        params: dict[str, Any] = {
            "threadId": self.id,
            "input": texts,
            "clientUserMessageId": client,
            "approvalPolicy": permission_params(self.options.mode).approval,
        }
        if self._sandbox is not None:
            params["sandboxPolicy"] = self._sandbox
        if self.options.model:
            params["model"] = self.options.model
        return params

    def _forget_events(self) -> None:
        """Forgets what happened before the turn; a question is refused."""
        while not self.server.events.empty():
            message = self.server.events.get_nowait()
            if message is None:
                raise ServerEnded("Codex ended.")
            if isinstance(message, ServerRequest):
                self.server.refuse(message.id, "no turn is running")

    def _notification(self, message: Notification, running: _RunningTurn) -> list[ProviderEvent]:
        try:
            params = _decode(message.params)
        except msgspec.MsgspecError:
            return []
        if params.thread_id != self.id:
            return []  # a subagent has a thread of its own
        match message.method:
            case "item/agentMessage/delta":
                return [Delta("text", params.delta)]
            case "item/reasoning/summaryTextDelta" | "item/reasoning/textDelta":
                return [Delta("thinking", params.delta)]
            case "item/reasoning/summaryPartAdded" if params.summary_index:
                return [Delta("thinking", "\n\n")]
            case "item/started" | "item/completed" if params.item is not None:
                return self._tool(params.item, running)
            case "thread/tokenUsage/updated" if params.turn_id == running.id and params.token_usage:
                self._usage = _usage(params.token_usage.last)
                running.answered, running.tool_started = running.answered + 1, False
                return self._new_events(running)
            case "turn/completed" if params.turn is not None and params.turn.id == running.id:
                running.end = params.turn
                return []
            case _:
                return []

    def _tool(self, item: _Item, running: _RunningTurn) -> list[ProviderEvent]:
        if item.type in _WORDS:
            return []
        if item.changes:
            running.diffs[item.id] = _shown_changes(item.changes)
        running.tool_started = True
        return self._new_events(running)

    def _new_events(self, running: _RunningTurn) -> list[ProviderEvent]:
        running.rows.read()
        return list(running.rows.new_events(running.diffs, most=running.most))

    async def _question(
        self, request: ServerRequest, running: _RunningTurn
    ) -> AsyncIterator[ProviderEvent]:
        """Asks the user. The reply with the call comes first."""
        self._asked += 1
        changes = running.diffs.get(_item_of(request), "")
        asked = ask(request, self._asked, changes, self.options.folder)
        if asked is None:
            answer = safe_answer(request.method)
            if answer is None:
                self.server.refuse(request.id, "Sapwood does not know this request")
            else:
                self.server.answer(request.id, answer)
            return
        if self.options.mode == "accept-edits" and asked.is_edit:
            self.server.answer(request.id, asked.allow)
            return
        running.tool_started = True
        rows, call = running.rows, asked.question.call
        await self._wait_for_rows(lambda: rows.has_call(call), rows)
        for event in rows.new_events(running.diffs, at_once=True):
            yield event
        self._questions[asked.question.question] = asked
        yield asked.question

    async def _wait_for_rows(self, there: Any, rows: TurnRows) -> None:
        """Waits for rows that Codex writes a moment after it tells of them."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_ROWS_SECONDS):
                while True:
                    rows.read()
                    if there():
                        return
                    await asyncio.sleep(_POLL_SECONDS)

    async def _turn_end(self, running: _RunningTurn) -> TurnEnd:
        """The end of the turn. Its usage is in its replies."""
        end, rows = running.end, running.rows
        assert end is not None
        native = rows.native(self.session)
        difference = await self._difference(running)
        match end.status:
            case "completed":
                return TurnEnd("completed", rows=native, difference=difference)
            case "interrupted":
                return TurnEnd("interrupted", rows=native, difference=difference)
            case _:
                reason = end.error.message if end.error else "Codex could not finish the turn."
                return TurnEnd("failed", reason, native, difference=difference)

    async def _difference(self, running: _RunningTurn) -> str:
        found: list[str] = []
        if self.wanted is not None:
            history = await self.history()
            turn = next((each for each in history.turns if each.id == running.id), None)
            if turn is not None:
                rows = difference_in_rows(history, turn, self.wanted)
                found.append(rows or difference_in_tokens(history, turn, self.wanted))
            self.wanted = None
        if running.rows.was_compacted:
            found.append("Codex compacted its session in this turn.")
        return " ".join(filter(None, found))

    def answer(self, question: str, answer: ProviderAnswer) -> None:
        """Answers a question of the running turn; a question that is over needs no answer."""
        asked = self._questions.pop(question, None)
        if asked is not None:
            with contextlib.suppress(ServerEnded):
                self.server.answer(asked.request.id, answer_for(asked, answer))

    async def interrupt(self) -> None:
        """Interrupts the running turn. A server that does not react is killed."""
        running = self._running
        if running is None or running.end is not None:
            return
        try:
            async with asyncio.timeout(_INTERRUPT_SECONDS):
                await self.server.call("turn/interrupt", threadId=self.id, turnId=running.id)
        except RequestRefused:
            return  # the turn has ended meanwhile
        except (TimeoutError, ServerEnded):
            await self.server.kill()


def _item_of(request: ServerRequest) -> str:
    try:
        return str(msgspec.json.decode(request.params).get("itemId", ""))
    except (msgspec.MsgspecError, AttributeError):
        return ""


def _shown_changes(changes: list[_FileChange]) -> str:
    return "\n".join(f"{change.path}\n{change.diff}" for change in changes)


def _usage(count: _TokenCount) -> Usage:
    return Usage(
        count.input_tokens,
        count.output_tokens,
        count.cached_input_tokens,
        count.cache_write_input_tokens,
    )
