"""Reads the events of Anthropic's Messages API. Does no I/O."""

from collections.abc import Mapping

import msgspec
from msgspec import Raw, Struct

from sapwood.core.content import ReplyPart, Text, Thinking, ToolCall, Usage
from sapwood.core.model_calls import Delta
from sapwood.models.model_routes import ModelRoute
from sapwood.models.wire.provider_error import error_in_stream
from sapwood.models.wire.signatures import REDACTED
from sapwood.models.wire.sse import ServerEvent
from sapwood.models.wire.wire_call import Ending, Reply

__all__ = ["MessagesReader"]

_ENDINGS: Mapping[str, Ending] = {
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


class _Delta(Struct):
    type: str = ""
    text: str = ""
    thinking: str = ""
    signature: str = ""
    partial_json: str = ""
    stop_reason: str | None = None


class _Usage(Struct):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None


class _Message(Struct):
    model: str = ""
    usage: _Usage | None = None


class _Event(Struct):
    type: str = ""
    index: int = 0
    message: _Message | None = None
    content_block: _Block | None = None
    delta: _Delta | None = None
    usage: _Usage | None = None


_event = msgspec.json.Decoder(_Event)


class MessagesReader:
    """Reads one answer."""

    def __init__(self, route: ModelRoute) -> None:
        self.is_complete = False
        self._provider = route.provider
        self._blocks: dict[int, _Block] = {}
        self._args: dict[int, list[str]] = {}
        self._model = ""
        self._stop = ""
        self._counts: dict[str, int] = {}

    def feed(self, event: ServerEvent) -> list[Delta]:
        """The deltas of an event."""
        read = _event.decode(event.data)
        match read.type:
            case "message_start" if read.message is not None:
                self._model = read.message.model
                self._count(read.message.usage)
            case "content_block_start" if read.content_block is not None:
                return self._start(read.index, read.content_block)
            case "content_block_delta" if read.delta is not None:
                return self._add(read.index, read.delta)
            case "message_delta":
                self._stop = (read.delta and read.delta.stop_reason) or self._stop
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
        """Later counts replace earlier ones: they are totals."""
        if usage is not None:
            found = msgspec.structs.asdict(usage)
            self._counts |= {name: count for name, count in found.items() if count is not None}

    def reply(self) -> Reply:
        """The answer, as far as it was read."""
        parts = [part for index in sorted(self._blocks) for part in self._part(index)]
        ending: Ending = _ENDINGS.get(self._stop, "done") if self._stop else "cut"
        return Reply(parts, self._model, self._usage(), ending, self._stop)

    def _part(self, index: int) -> list[ReplyPart]:
        block = self._blocks[index]
        match block.type:
            case "text" if block.text.strip():
                return [Text(block.text)]
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
        read = self._counts.get("cache_read_input_tokens", 0)
        written = self._counts.get("cache_creation_input_tokens", 0)
        total = self._counts.get("input_tokens", 0) + read + written
        output = self._counts.get("output_tokens", 0)
        return Usage(total, output, read, written) if total or output else None
