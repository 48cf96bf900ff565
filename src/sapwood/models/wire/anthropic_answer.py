"""Reads the events of Anthropic's Messages API. Does no I/O."""

from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Raw, Struct

from sapwood.core.content import ReplyPart, Text, Thinking, ToolCall, Usage
from sapwood.core.model_calls import CallReport, Delta
from sapwood.models.model_routes import ModelRoute
from sapwood.models.wire.provider_error import error_in_stream
from sapwood.models.wire.signatures import REDACTED
from sapwood.models.wire.sse import ServerEvent
from sapwood.models.wire.wire_call import Ending, WireReply, ending_of

_ENDINGS: Mapping[str, Ending] = {
    **dict.fromkeys("end_turn tool_use stop_sequence pause_turn".split(), "done"),
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refused",
}


class _Block(Struct):
    type: str = ""
    text: str = ""
    thinking: str = ""
    signature: str = ""
    data: str = ""
    id: str = ""
    name: str = ""
    input: Raw = Raw(b"{}")
    content: object = None


class _Delta(Struct):
    type: str = ""
    text: str = ""
    thinking: str = ""
    signature: str = ""
    partial_json: str = ""
    stop_reason: str | None = None


class _Lifetimes(Struct):
    ephemeral_1h_input_tokens: int | None = None


class _Counts(Struct):
    type: str = ""
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation: _Lifetimes | None = None


class _Usage(_Counts):
    iterations: list[_Counts] | None = None


class _Transformation(Struct):
    type: str = ""
    reason: str | None = None


class _Miss(Struct):
    type: str = ""
    cache_missed_input_tokens: int | None = None


class _Diagnostics(Struct):
    cache_miss_reason: _Miss | None = None


class _Message(Struct):
    id: str = ""
    model: str = ""
    usage: _Usage | None = None
    input_transformations: list[_Transformation] | None = None
    diagnostics: _Diagnostics | None = None


class _Event(Struct):
    type: str = ""
    index: int = 0
    message: _Message | None = None
    content_block: _Block | None = None
    delta: _Delta | None = None
    usage: _Usage | None = None
    input_transformations: list[_Transformation] | None = None


_event = msgspec.json.Decoder(_Event)


class MessagesReader:
    """Reads one answer."""

    def __init__(self, route: ModelRoute) -> None:
        self.is_complete = False
        self._provider = route.provider
        self._blocks: dict[int, _Block] = {}
        self._args: dict[int, list[str]] = {}
        self._message = _Message()
        self._dropped: Sequence[_Transformation] = ()
        self._stop = ""
        self._counts: dict[str, int] = {}
        self._summaries: Sequence[_Counts] = ()

    def feed(self, event: ServerEvent) -> list[Delta]:
        """The deltas of an event."""
        read = _event.decode(event.data)
        match read.type:
            case "message_start" if read.message is not None:
                self._message = read.message
                self._dropped = read.message.input_transformations or ()
                self._count(read.message.usage)
            case "content_block_start" if read.content_block is not None:
                return self._start(read.index, read.content_block)
            case "content_block_delta" if read.delta is not None:
                return self._add(read.index, read.delta)
            case "message_delta":
                self._stop = (read.delta and read.delta.stop_reason) or self._stop
                self._dropped = read.input_transformations or self._dropped
                self._count(read.usage)
            case "message_stop":
                self.is_complete = True
            case "error":
                raise error_in_stream(event.data)
            case _:
                pass
        return []

    def _start(self, index: int, block: _Block) -> list[Delta]:
        self._blocks[index] = block
        match block.type:
            case "tool_use":
                return [Delta("call", "", block.name)]
            case "text" if block.text:
                return [Delta("text", block.text)]
            case "thinking" if block.thinking:
                return [Delta("thinking", block.thinking)]
            case _:
                return []

    def _add(self, index: int, delta: _Delta) -> list[Delta]:
        block = self._blocks.get(index)
        if block is None:
            return []
        block.signature += delta.signature
        if delta.partial_json:
            self._args.setdefault(index, []).append(delta.partial_json)
            return [Delta("call", delta.partial_json)] if block.type == "tool_use" else []
        if delta.text:
            block.text += delta.text
            return [Delta("text", delta.text)]
        if delta.thinking:
            block.thinking += delta.thinking
            return [Delta("thinking", delta.thinking)]
        return []

    def _count(self, usage: _Usage | None) -> None:
        """Later counts replace earlier ones: they are totals, but for summaries of the provider."""
        if usage is not None:
            self._counts |= _numbers(usage)
            self._summaries = [
                each for each in usage.iterations or () if each.type == "compaction"
            ] or self._summaries

    def reply(self) -> WireReply:
        parts = [part for index in sorted(self._blocks) for part in self._part(index)]
        ending: Ending = ending_of(self._stop, _ENDINGS, parts) if self._stop else "cut"
        report = self._report()
        return WireReply(parts, self._message.model, self._usage(), ending, self._stop, report)

    def _report(self) -> CallReport:
        dropped = [each for each in self._dropped if each.type == "thinking_dropped"]
        diagnostics = self._message.diagnostics
        miss = (diagnostics and diagnostics.cache_miss_reason) or _Miss()
        signatures = [b.signature for b in self._blocks.values() if b.type == "compaction"]
        return CallReport(
            self._message.id,
            len(dropped),
            next((each.reason or "" for each in dropped), ""),
            miss.cache_missed_input_tokens or 0,
            miss.type,
            next(iter(signatures), ""),
        )

    def _part(self, index: int) -> list[ReplyPart]:
        block = self._blocks[index]
        match block.type:
            case "text" if block.text.strip():
                return [Text(block.text)]
            case "compaction" if isinstance(block.content, str) and block.content.strip():
                return [Text(block.content)]
            case "thinking" if block.thinking or block.signature:
                return [Thinking(block.thinking, self._provider, block.signature)]
            case "redacted_thinking":
                return [Thinking("", self._provider, REDACTED + block.data)]
            case "tool_use":
                args = "".join(self._args.get(index, ())) or bytes(block.input).decode()
                return [ToolCall(block.id, block.name, args)]
            case _:
                return []

    def _usage(self) -> Usage | None:
        counts = [self._counts, *map(_numbers, self._summaries)]
        used = sum(map(_usage, counts), Usage(0))
        return used if used.input or used.output else None


def _numbers(counts: _Counts) -> dict[str, int]:
    found = msgspec.structs.asdict(counts)
    hour = counts.cache_creation and counts.cache_creation.ephemeral_1h_input_tokens
    numbers = {name: count for name, count in found.items() if isinstance(count, int)}
    return numbers if hour is None else {**numbers, "hour": hour}


def _usage(counts: Mapping[str, int]) -> Usage:
    read = counts.get("cache_read_input_tokens", 0)
    written = counts.get("cache_creation_input_tokens", 0)
    total = counts.get("input_tokens", 0) + read + written
    hour = counts.get("hour", 0)
    return Usage(total, counts.get("output_tokens", 0), read, written, cache_hour=hour)
