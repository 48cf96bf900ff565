"""Reads the events of Gemini's `streamGenerateContent`. Does no I/O."""

from collections.abc import Mapping
from uuid import uuid4

import msgspec
from msgspec import Raw, Struct

from sapwood.core.content import ReplyPart, Text, Thinking, ToolCall, Usage
from sapwood.core.model_calls import Delta
from sapwood.models.model_routes import ModelRoute
from sapwood.models.wire.provider_error import error_in_stream
from sapwood.models.wire.sse import ServerEvent
from sapwood.models.wire.wire_call import Ending, WireReply, ending_of

_ENDINGS: Mapping[str, Ending] = {
    "STOP": "done",
    "MAX_TOKENS": "length",
    "CONTINUATION": "length",
    **dict.fromkeys(
        """SAFETY RECITATION BLOCKLIST PROHIBITED_CONTENT SPII IMAGE_SAFETY
        IMAGE_PROHIBITED_CONTENT IMAGE_RECITATION MODEL_ARMOR""".split(),
        "refused",
    ),
    **dict.fromkeys(
        """LANGUAGE MALFORMED_FUNCTION_CALL MALFORMED_RESPONSE UNEXPECTED_TOOL_CALL
        TOO_MANY_TOOL_CALLS MISSING_THOUGHT_SIGNATURE NO_IMAGE IMAGE_OTHER OTHER""".split(),
        "broken",
    ),
}


class _FunctionCall(Struct):
    name: str = ""
    id: str | None = None
    args: Raw = Raw()


class _Part(Struct, rename="camel"):
    text: str | None = None
    thought: bool = False
    thought_signature: str | None = None
    function_call: _FunctionCall | None = None


class _Content(Struct):
    parts: list[_Part] | None = None


class _Candidate(Struct, rename="camel"):
    content: _Content | None = None
    finish_reason: str | None = None


class _Feedback(Struct, rename="camel"):
    block_reason: str | None = None


class _Usage(Struct, rename="camel"):
    prompt_token_count: int = 0
    candidates_token_count: int = 0
    thoughts_token_count: int = 0
    cached_content_token_count: int = 0
    tool_use_prompt_token_count: int = 0


class _Response(Struct, rename="camel"):
    candidates: list[_Candidate] | None = None
    prompt_feedback: _Feedback | None = None
    usage_metadata: _Usage | None = None
    model_version: str | None = None
    error: Raw = Raw()


class _Piece(Struct):
    """A part of the answer, with the signature that Google put on it."""

    part: Text | Thinking | ToolCall
    signature: str = ""


_response = msgspec.json.Decoder(_Response)


class GeminiAnswerReader:
    """Reads one answer."""

    def __init__(self, route: ModelRoute) -> None:
        self.is_complete = False
        self._provider = route.provider
        self._pieces: list[_Piece] = []
        self._model = ""
        self._stop = ""
        self._blocked = ""
        self._usage: _Usage | None = None

    def feed(self, event: ServerEvent) -> list[Delta]:
        """The deltas of an event."""
        read = _response.decode(event.data)
        if bytes(read.error) not in (b"", b"null"):
            raise error_in_stream(event.data)
        self._model = read.model_version or self._model
        self._usage = read.usage_metadata or self._usage
        if read.prompt_feedback is not None:
            self._blocked = read.prompt_feedback.block_reason or self._blocked
        deltas: list[Delta] = []
        for candidate in (read.candidates or [])[:1]:
            self._stop = candidate.finish_reason or self._stop
            for part in (candidate.content and candidate.content.parts) or ():
                deltas += self._add(part)
        return deltas

    def _add(self, part: _Part) -> list[Delta]:
        if part.function_call is not None:
            return self._call(part.function_call, part.thought_signature or "")
        if part.text is None:
            return []
        kind = Thinking if part.thought else Text
        last = self._pieces[-1] if self._pieces else None
        if last is not None and type(last.part) is kind:
            last.part = msgspec.structs.replace(last.part, text=last.part.text + part.text)
        elif part.text:
            new = Thinking(part.text, self._provider) if part.thought else Text(part.text)
            last = _Piece(new)
            self._pieces.append(last)
        if last is not None and part.thought_signature and not part.thought:
            last.signature = part.thought_signature
        return [Delta("thinking" if part.thought else "text", part.text)] if part.text else []

    def _call(self, call: _FunctionCall, signature: str) -> list[Delta]:
        """A whole call. Older models give calls no id."""
        args = msgspec.json.format(bytes(call.args) or b"{}", indent=-1).decode()
        args = "{}" if args == "null" else args
        made = ToolCall(call.id or f"call_{uuid4().hex}", call.name, args)
        self._pieces.append(_Piece(made, signature))
        return [Delta("call", args, call.name)]

    def reply(self) -> WireReply:
        reason, parts = self._blocked or self._stop, self._parts()
        ending: Ending = "cut"
        if self._blocked:
            ending = "refused"
        elif self._stop:
            ending = ending_of(self._stop, _ENDINGS, parts)
        return WireReply(parts, self._model, _counted(self._usage), ending, reason)

    def _parts(self) -> list[ReplyPart]:
        """The parts. A thought holds the signature of the part that follows it."""
        parts: list[ReplyPart] = []
        for piece in self._pieces:
            if isinstance(piece.part, Text) and not piece.part.text.strip():
                continue
            if piece.signature:
                last = parts[-1] if parts else None
                if isinstance(last, Thinking) and not last.signature:
                    parts[-1] = Thinking(last.text, last.provider, piece.signature)
                else:
                    parts.append(Thinking("", self._provider, piece.signature))
            parts.append(piece.part)
        return parts


def _counted(usage: _Usage | None) -> Usage | None:
    if usage is None:
        return None
    sent = usage.prompt_token_count + usage.tool_use_prompt_token_count
    output = usage.candidates_token_count + usage.thoughts_token_count
    return Usage(sent, output, usage.cached_content_token_count) if sent or output else None
