"""A turn that runs in an app server: what the server tells and asks, as events of a provider."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable

import msgspec
from msgspec import Struct

from sapwood.core.content import Usage
from sapwood.core.model_calls import Delta
from sapwood.programs.agent_provider import ProviderAnswer, ProviderEvent, ProviderOptions
from sapwood.programs.codex.app_server import AppServer, CodexEnded, Notification, ServerRequest
from sapwood.programs.codex.permissions import Asked, answer_for, ask, safe_answer
from sapwood.programs.codex.turn_rows import TurnRows


class FileChange(Struct):
    """A change of one file."""

    path: str = ""
    diff: str = ""


class ThreadItem(Struct):
    """Something that happens in a turn: words, or a tool at work."""

    type: str = ""
    id: str = ""
    changes: list[FileChange] = []

    @property
    def is_tool(self) -> bool:
        """Whether it is neither words of the model nor of the user."""
        return self.type not in ("agentMessage", "reasoning", "userMessage", "plan")

    @property
    def shown_changes(self) -> str:
        """The changes of files that it makes."""
        return "\n".join(f"{change.path}\n{change.diff}" for change in self.changes)


class TokenCount(Struct, rename="camel"):
    """The tokens of one request."""

    input_tokens: int = 0
    cached_input_tokens: int = 0
    cache_write_input_tokens: int = 0
    output_tokens: int = 0


class TokenUsage(Struct):
    """The tokens of the last request."""

    last: TokenCount


class _TurnError(Struct):
    """Why a turn failed."""

    message: str = ""


class EndedTurn(Struct):
    """How a turn ended."""

    id: str = ""
    status: str = ""
    error: _TurnError | None = None


class NotificationParams(Struct, rename="camel"):
    """The parameters of a notification or a question, of whatever kind it is."""

    thread_id: str = ""
    turn_id: str = ""
    item_id: str = ""
    delta: str = ""
    summary_index: int = 0
    item: ThreadItem | None = None
    turn: EndedTurn | None = None
    token_usage: TokenUsage | None = None


_decode = msgspec.json.Decoder(NotificationParams).decode


def decode_params(params: msgspec.Raw) -> NotificationParams:
    """The parameters; empty ones if they have another form than is known.

    >>> decode_params(msgspec.Raw(b'{"threadId": "t", "delta": "Hel"}')).delta
    'Hel'
    """
    try:
        return _decode(params)
    except msgspec.MsgspecError:
        return NotificationParams()


_ROWS_SECONDS = 3.0
_POLL_SECONDS = 0.02


class CodexTurn:
    """The turn. `end` is set when the server has told that it ended."""

    def __init__(
        self, server: AppServer, thread: str, turn: str, rows: TurnRows, options: ProviderOptions
    ) -> None:
        self.id = turn
        self.rows = rows
        self.end: EndedTurn | None = None
        self.usage: Usage | None = None
        self._server = server
        self._thread = thread
        self._options = options
        self._diffs: dict[str, str] = {}
        self._answered = 0
        self._tool_started = False
        self._questions: dict[str, Asked] = {}
        self._asked = 0

    async def events(self) -> AsyncIterator[ProviderEvent]:
        """What happens until the turn ends. Raises `CodexEnded` if the server ends first."""
        while self.end is None:
            message = await self._server.events.get()
            if message is None:
                raise CodexEnded("Codex exited in the middle of the turn.")
            if isinstance(message, ServerRequest):
                async for event in self._question(message):
                    yield event
            else:
                for event in self._notification(message):
                    yield event
        await self._wait_for_rows(lambda: bool(self.rows.ending))
        for event in self.rows.new_events(self._diffs, at_once=True):
            yield event

    def answer(self, question: str, answer: ProviderAnswer) -> None:
        """Answers a question; one that is over needs no answer."""
        asked = self._questions.pop(question, None)
        if asked is not None:
            with contextlib.suppress(CodexEnded):
                self._server.answer(asked.request.id, answer_for(asked, answer))

    def _notification(self, message: Notification) -> list[ProviderEvent]:
        params = decode_params(message.params)
        if params.thread_id != self._thread:
            return []  # a subagent has a thread of its own
        match message.method:
            case "item/agentMessage/delta":
                return [Delta("text", params.delta)]
            case "item/reasoning/summaryTextDelta" | "item/reasoning/textDelta":
                return [Delta("thinking", params.delta)]
            case "item/reasoning/summaryPartAdded" if params.summary_index:
                return [Delta("thinking", "\n\n")]
            case "item/started" | "item/completed" if params.item and params.item.is_tool:
                return self._tool(params.item)
            case "thread/tokenUsage/updated" if params.token_usage and params.turn_id == self.id:
                self.usage = _usage(params.token_usage.last)
                self._answered, self._tool_started = self._answered + 1, False
                return self._new_events()
            case "turn/completed" if params.turn is not None and params.turn.id == self.id:
                self.end = params.turn
                return []
            case _:
                return []

    def _tool(self, item: ThreadItem) -> list[ProviderEvent]:
        if item.changes:
            self._diffs[item.id] = item.shown_changes
        self._tool_started = True
        return self._new_events()

    def _new_events(self) -> list[ProviderEvent]:
        """Replies that the server has told of, so that none comes before its deltas."""
        self.rows.read()
        max_replies = self._answered + self._tool_started
        return list(self.rows.new_events(self._diffs, max_replies=max_replies))

    async def _question(self, request: ServerRequest) -> AsyncIterator[ProviderEvent]:
        """Asks the user. The reply with the call comes first."""
        params = decode_params(request.params)
        self._asked += 1
        changes = self._diffs.get(params.item_id, "")
        asked = ask(request, f"{self.id}-{self._asked}", changes, self._options.folder)
        if asked is None:
            self._decline(request)
            return
        if self._options.mode == "accept-edits" and asked.is_edit:
            self._server.answer(request.id, asked.allow)
            return
        if params.thread_id == self._thread:
            self._tool_started = True
            await self._wait_for_rows(lambda: self.rows.has_call(params.item_id))
            for event in self.rows.new_events(self._diffs, at_once=True):
                yield event
        self._questions[asked.question.question] = asked
        yield asked.question

    def _decline(self, request: ServerRequest) -> None:
        answer = safe_answer(request.method)
        if answer is None:
            self._server.refuse(request.id, f"Sapwood does not know '{request.method}'.")
        else:
            self._server.answer(request.id, answer)

    async def _wait_for_rows(self, are_there: Callable[[], bool]) -> None:
        """Waits for rows that Codex writes a moment after it tells of them."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_ROWS_SECONDS):
                while True:
                    self.rows.read()
                    if are_there():
                        return
                    await asyncio.sleep(_POLL_SECONDS)


def _usage(count: TokenCount) -> Usage:
    return Usage(
        count.input_tokens,
        count.output_tokens,
        count.cached_input_tokens,
        count.cache_write_input_tokens,
    )
