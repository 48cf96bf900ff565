"""Reads the events of OpenAI's Responses API. Does no I/O."""

from collections.abc import Iterator, Mapping
from typing import Literal

import msgspec
from msgspec import Raw, Struct

from sapwood.core.content import ReplyPart, Text, Thinking, ToolCall, Usage
from sapwood.core.model_calls import CallReport, Delta
from sapwood.models.model_routes import ModelRoute
from sapwood.models.wire.provider_error import error_in_stream
from sapwood.models.wire.signatures import ReasoningItem, encode_reasoning
from sapwood.models.wire.sse import ServerEvent
from sapwood.models.wire.wire_call import Ending, WireReply, ending_of

_ENDINGS: Mapping[str, Ending] = {
    "completed": "done",
    "incomplete": "length",
    "max_output_tokens": "length",
    "content_filter": "refused",
    "cancelled": "broken",
    "failed": "broken",
}
"""By the status, or by the reason why a response is incomplete if it has one."""


class _Content(Struct):
    type: str = ""
    text: str = ""
    refusal: str = ""


class _Item(Struct):
    type: str = ""
    id: str | None = None
    call_id: str = ""
    name: str = ""
    arguments: str = ""
    phase: str | None = None
    encrypted_content: str | None = None
    content: list[_Content] | None = None
    summary: list[_Content] | None = None


class _Cached(Struct):
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None


class _Usage(Struct):
    input_tokens: int = 0
    output_tokens: int = 0
    input_tokens_details: _Cached | None = None


class _Incomplete(Struct):
    reason: str | None = None


class _Diagnostics(Struct):
    reason: str = ""
    cache_missed_tokens: int = 0


class _Response(Struct):
    id: str = ""
    model: str = ""
    status: str | None = None
    incomplete_details: _Incomplete | None = None
    usage: _Usage | None = None
    output: list[_Item] | None = None
    prompt_cache_diagnostics: _Diagnostics | None = None


class _Event(Struct):
    type: str = ""
    output_index: int = 0
    delta: object = None
    item: _Item | None = None
    response: _Response | None = None


_event = msgspec.json.Decoder(_Event)


class _Failed(Struct):
    error: Raw = Raw()


class _FailedEvent(Struct):
    response: _Failed


class ResponsesReader:
    """Reads one answer. The items that the provider calls done are the answer."""

    def __init__(self, route: ModelRoute) -> None:
        self.is_complete = False
        self._provider = route.provider
        self._items: dict[int, _Item] = {}
        self._response = _Response()
        self._status = ""
        self._model = ""

    def feed(self, event: ServerEvent) -> list[Delta]:
        """The deltas of an event."""
        read = _event.decode(event.data)
        if read.response is not None:
            self._model = read.response.model or self._model
        match read.type:
            case "response.output_item.added" if read.item is not None:
                if read.item.type == "function_call":
                    return [Delta("call", read.item.arguments, read.item.name)]
            case "response.output_item.done" if read.item is not None:
                self._items[read.output_index] = read.item
            case "response.output_text.delta" | "response.refusal.delta":
                return _piece("text", read)
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                return _piece("thinking", read)
            case "response.function_call_arguments.delta":
                return _piece("call", read)
            case "response.completed" | "response.incomplete" if read.response is not None:
                self._response = read.response
                self._status = read.type.removeprefix("response.")
                self._items = dict(enumerate(read.response.output or ())) | self._items
                self.is_complete = True
            case "response.failed":
                failed = msgspec.json.decode(event.data, type=_FailedEvent).response
                raise error_in_stream(bytes(failed.error) or b"{}")
            case "error":
                raise error_in_stream(event.data)
            case _:
                pass
        return []

    def reply(self) -> WireReply:
        items = [self._items[index] for index in sorted(self._items)]
        refusals = [c.refusal for item in items for c in item.content or () if c.refusal]
        incomplete = self._response.incomplete_details
        status = self._response.status or self._status
        why = (incomplete and incomplete.reason) or ""
        reason, parts = why or status, _Parts(self._provider).of(items)
        ending: Ending = "cut"
        if self.is_complete:
            ending = _ENDINGS.get(why, "broken") if why else ending_of(status, _ENDINGS, parts)
        if refusals and ending == "done":
            ending, reason = "refused", " ".join(refusals)
        found = self._response.prompt_cache_diagnostics or _Diagnostics()
        report = CallReport(
            self._response.id, missed=found.cache_missed_tokens, missed_why=found.reason
        )
        return WireReply(parts, self._model, _counted(self._response.usage), ending, reason, report)


class _Parts:
    """Converts items to parts. OpenAI wants reasoning back with the items that it came with, so
    the signature of the reasoning holds their ids.
    """

    def __init__(self, provider: str) -> None:
        self._provider = provider
        self._reasoning: list[tuple[int, str, ReasoningItem]] = []

    def of(self, items: list[_Item]) -> list[ReplyPart]:
        parts: list[ReplyPart] = []
        for item in items:
            match item.type:
                case "message":
                    parts += self._texts(item)
                case "function_call":
                    parts.append(self._call(item))
                case "reasoning":
                    for text, reasoning in self._summaries(item):
                        if reasoning is not None:
                            self._reasoning.append((len(parts), text, reasoning))
                        parts.append(Thinking(text, self._provider))
                case _:
                    pass
        for index, text, reasoning in self._reasoning:
            parts[index] = Thinking(text, self._provider, encode_reasoning(reasoning))
        return parts

    def _texts(self, item: _Item) -> Iterator[Text]:
        for content in item.content or ():
            text = content.text if content.type == "output_text" else content.refusal
            if text.strip():
                if self._reasoning:
                    name = (item.id or "", item.phase or "")
                    self._reasoning[-1][2].texts.append(name)
                yield Text(text)

    def _call(self, item: _Item) -> ToolCall:
        if self._reasoning and item.id:
            self._reasoning[-1][2].calls[item.call_id] = item.id
        return ToolCall(item.call_id, item.name, item.arguments or "{}")

    def _summaries(self, item: _Item) -> Iterator[tuple[str, ReasoningItem | None]]:
        """The summaries of a reasoning item. The first holds what the provider encrypted."""
        texts = [each.text for each in item.summary or () if each.text]
        data = item.encrypted_content or ""
        if not item.id:
            yield from ((text, None) for text in texts)
            return
        for index, text in enumerate(texts or [""]):
            yield text, ReasoningItem(item.id, "" if index else data)


def _piece(kind: Literal["text", "thinking", "call"], event: _Event) -> list[Delta]:
    text = event.delta
    return [Delta(kind, text)] if isinstance(text, str) and text else []


def _counted(usage: _Usage | None) -> Usage | None:
    if usage is None or not (usage.input_tokens or usage.output_tokens):
        return None
    cached = usage.input_tokens_details or _Cached()
    return Usage(
        usage.input_tokens,
        usage.output_tokens,
        cached.cached_tokens or 0,
        cached.cache_write_tokens or 0,
    )
