"""Reads the events of OpenAI's chat format, and of the many servers that speak it. Does no I/O."""

from collections.abc import Mapping
from uuid import uuid4

import msgspec
from msgspec import Raw, Struct

from sapwood.core.content import ReplyPart, Text, Thinking, ToolCall, Usage
from sapwood.core.model_calls import Delta
from sapwood.models.model_routes import ModelRoute
from sapwood.models.wire.chat_thinking import (
    ChatThinking,
    ReasoningDetails,
    encode_chat_thinking,
)
from sapwood.models.wire.provider_error import error_in_stream
from sapwood.models.wire.sse import ServerEvent
from sapwood.models.wire.wire_call import Ending, WireReply, ending_of, is_json_object

_DONE = b"[DONE]"
_ENDINGS: Mapping[str, Ending] = {
    **dict.fromkeys("stop tool_calls function_call end_turn eos".split(), "done"),
    **dict.fromkeys("length model_length max_tokens".split(), "length"),
    **dict.fromkeys("content_filter sensitive".split(), "refused"),
    **dict.fromkeys(
        "insufficient_system_resource error network_error timeout abort".split(), "broken"
    ),
}
"""The reasons of OpenAI, and those of DeepSeek, Mistral, Z.ai, Cohere, Together and vLLM."""
_OPEN, _CLOSE = "<think>", "</think>"


class _Function(Struct):
    name: str | None = None
    arguments: str | None = None


class _CallDelta(Struct):
    index: int | None = None
    id: str | None = None
    function: _Function | None = None
    extra_content: Raw = Raw()


class _Content(Struct):
    """A part of an answer of Mistral. Its thinking consists of parts too."""

    text: str | None = None
    thinking: "list[_Content] | str | None" = None


class _Delta(Struct):
    content: str | list[_Content] | None = None
    refusal: str | None = None
    reasoning: str | None = None
    reasoning_content: str | None = None
    reasoning_details: Raw = Raw()
    tool_calls: list[_CallDelta] | None = None


class _Choice(Struct):
    delta: _Delta | None = None
    finish_reason: str | None = None


class _Cached(Struct):
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None


class _Usage(Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _Cached | None = None


class _Chunk(Struct):
    model: str | None = None
    choices: list[_Choice] | None = None
    usage: _Usage | None = None
    error: Raw = Raw()


class _Call(Struct):
    id: str
    name: str
    args: str = ""
    extra: Raw = Raw()


_chunk = msgspec.json.Decoder(_Chunk)


class ChatReader:
    """Reads one answer."""

    def __init__(self, route: ModelRoute) -> None:
        self.is_complete = False
        self._provider = route.provider
        self._parts: list[Text | _Call] = []
        self._thinking = ""
        self._field = ""
        self._details = ReasoningDetails()
        self._tags = _ThinkTags()
        self._calls: dict[int, _Call] = {}
        """The newest call of each index."""
        self._index = 0
        self._refusal = ""
        self._model = ""
        self._stop = ""
        self._usage: _Usage | None = None

    def feed(self, event: ServerEvent) -> list[Delta]:
        """The deltas of an event."""
        if event.data.strip() == _DONE:
            self.is_complete = True
            return []
        chunk = _chunk.decode(event.data)
        if not _is_null(chunk.error):
            raise error_in_stream(event.data)
        self._model = chunk.model or self._model
        self._usage = chunk.usage or self._usage
        deltas: list[Delta] = []
        for choice in (chunk.choices or [])[:1]:
            self._stop = choice.finish_reason or self._stop
            if choice.delta is not None:
                deltas += self._add(choice.delta)
        return deltas

    def _add(self, delta: _Delta) -> list[Delta]:
        deltas: list[Delta] = []
        self._refusal += delta.refusal or ""
        for field in ("reasoning_content", "reasoning"):
            if text := getattr(delta, field):
                self._field = self._field or field
                if field == self._field:
                    self._thinking += text
                    deltas.append(Delta("thinking", text))
        text = self._details.add(delta.reasoning_details)
        if text and not self._field:
            deltas.append(self._thought(text))
        for part in _content(delta.content):
            for thought in _content(part.thinking):
                deltas += [self._thought(thought.text)] if thought.text else []
            for kind, text in self._tags.feed(part.text or ""):
                deltas.append(self._text(text) if kind == "text" else self._thought(text))
        if delta.refusal:
            deltas.append(self._text(delta.refusal))
        for call in delta.tool_calls or ():
            deltas += self._call(call)
        return deltas

    def _text(self, text: str) -> Delta:
        last = self._parts[-1] if self._parts else None
        if isinstance(last, Text):
            self._parts[-1] = Text(last.text + text)
        else:
            self._parts.append(Text(text))
        return Delta("text", text)

    def _thought(self, text: str) -> Delta:
        self._thinking += text
        return Delta("thinking", text)

    def _call(self, delta: _CallDelta) -> list[Delta]:
        """A piece of a call. Servers leave out the index or the id, or repeat the index."""
        name = (delta.function and delta.function.name) or ""
        text = (delta.function and delta.function.arguments) or ""
        if delta.index is not None:
            self._index = delta.index
        call = self._calls.get(self._index)
        extra = Raw() if _is_null(delta.extra_content) else delta.extra_content.copy()
        if call is not None and not _begins(call, delta.id, name, text):
            call.args += text
            call.extra = extra if bytes(extra) else call.extra
            return [Delta("call", text)] if text else []
        call = _Call(delta.id or f"call_{uuid4().hex}", name, text, extra)
        self._calls[self._index] = call
        self._parts.append(call)
        return [Delta("call", text, name)]

    def reply(self) -> WireReply:
        for kind, text in self._tags.end():
            _ = self._text(text) if kind == "text" else self._thought(text)
        parts: list[ReplyPart] = []
        signature = self._signature()
        if self._thinking or signature:
            parts.append(Thinking(self._thinking, self._provider, signature))
        for part in self._parts:
            if isinstance(part, _Call):
                parts.append(ToolCall(part.id, part.name, part.args or "{}"))
            elif part.text.strip():
                parts.append(part)
        stop = self._stop.lower()
        ending: Ending = ending_of(stop, _ENDINGS, parts) if stop else "cut"
        if self._refusal and ending != "cut":
            ending = "refused"
        return WireReply(
            parts, self._model, _counted(self._usage), ending, self._refusal or self._stop
        )

    def _signature(self) -> str:
        calls = [part for part in self._parts if isinstance(part, _Call)]
        extras = {place: call.extra for place, call in enumerate(calls) if bytes(call.extra)}
        return encode_chat_thinking(ChatThinking(self._field, self._details.encoded(), extras))


def _is_null(value: Raw) -> bool:
    return bytes(value) in (b"", b"null")


def _content(content: str | list[_Content] | None) -> list[_Content]:
    return [_Content(content)] if isinstance(content, str) else content or []


def _begins(call: _Call, id: str | None, name: str, text: str) -> bool:
    """Whether a piece with this id, name and text begins a call after this one.

    Without an id, it does if the call is complete: servers that leave out ids send whole calls.
    Others repeat the name in every piece of a call, also in an empty one at its end.
    """
    if not name or id:
        return bool(name) and id != call.id
    return bool(call.name) and (name != call.name or bool(text)) and is_json_object(call.args)


def _counted(usage: _Usage | None) -> Usage | None:
    if usage is None or not (usage.prompt_tokens or usage.completion_tokens):
        return None
    cached = usage.prompt_tokens_details or _Cached()
    return Usage(
        usage.prompt_tokens or 0,
        usage.completion_tokens or 0,
        cached.cached_tokens or 0,
        cached.cache_write_tokens or 0,
    )


class _ThinkTags:
    """Takes thinking out of a text that begins with it, between tags, as local servers send it."""

    def __init__(self) -> None:
        self._state = "start"
        self._held = ""

    def feed(self, text: str) -> list[tuple[str, str]]:
        """The pieces of the text that are certain, each with its kind."""
        if self._state == "text":
            return [("text", text)] if text else []
        self._held += text
        if self._state == "gap":
            self._held = self._held.lstrip()
            return self._rest() if self._held else []
        if self._state == "start":
            begun = self._held.lstrip()
            if begun and not (begun.startswith(_OPEN) or _OPEN.startswith(begun)):
                return self._rest()
            if not begun.startswith(_OPEN):
                return []
            self._state, self._held = "thinking", begun.removeprefix(_OPEN)
        thought, closed, after = self._held.partition(_CLOSE)
        if closed:
            self._state, self._held = "gap", ""
            return [*_piece("thinking", thought), *self.feed(after)]
        certain = len(self._held) - _held_back(self._held)
        thought, self._held = self._held[:certain], self._held[certain:]
        return _piece("thinking", thought)

    def end(self) -> list[tuple[str, str]]:
        """What was held back."""
        if self._state == "thinking":
            held, self._held = self._held, ""
            return _piece("thinking", held)
        return self._rest()

    def _rest(self) -> list[tuple[str, str]]:
        self._state = "text"
        held, self._held = self._held, ""
        return _piece("text", held)


def _piece(kind: str, text: str) -> list[tuple[str, str]]:
    return [(kind, text)] if text else []


def _held_back(text: str) -> int:
    """How many characters at the end may be the beginning of the closing tag."""
    lengths = range(len(_CLOSE) - 1, 0, -1)
    return next((n for n in lengths if text.endswith(_CLOSE[:n])), 0)
