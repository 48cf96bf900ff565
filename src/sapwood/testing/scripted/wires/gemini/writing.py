"""From a reply to what the Gemini API sends, whole or as a stream. Pure."""

from collections.abc import Iterator

from sapwood.core.content import ReplyPart, Text, Thinking, ToolCall
from sapwood.testing.scripted.asked import Asked
from sapwood.testing.scripted.jsontree import Json, JsonObject, decode, object_at
from sapwood.testing.scripted.signing import Mint, seal
from sapwood.testing.scripted.usage import Spent
from sapwood.testing.scripted.wires.gemini.models import signs_calls
from sapwood.testing.scripted.wires.pieces import Pieces
from sapwood.testing.scripted.wires.sse import plain_event
from sapwood.testing.scripted.wires.wire import Answer, Event

__all__ = ["call_id", "counted", "events", "whole"]

_LINE = b"\r\n"


def call_id(asked: Asked, mint: Mint) -> str:
    """An id as the API makes them; models before the third have none."""
    return mint.letters(8).lower() if signs_calls(asked.model) else ""


def counted(total: int) -> JsonObject:
    """The answer of `countTokens`."""
    details: list[Json] = [{"modality": "TEXT", "tokenCount": total}]
    return {"totalTokens": total, "promptTokensDetails": details}


def whole(answer: Answer) -> JsonObject:
    """The response."""
    parts = [part for given in answer.parts for part in _parts(answer, given)]
    return _response(answer, parts, _reason(answer))


def events(answer: Answer) -> Iterator[Event]:
    """Responses with a piece each; the last one says why it ended. Calls come whole."""
    pieces = Pieces.for_answer(answer)
    for given in answer.parts:
        for part in _parts(answer, given):
            if "text" not in part:
                call = given.args if isinstance(given, ToolCall) else ""
                yield _event(answer, part, len(call))
                continue
            for piece in pieces.of(str(part["text"])):
                yield _event(answer, {**part, "text": piece}, len(piece))
    final = _response(answer, [{"text": ""}], _reason(answer))
    yield plain_event(final, closing=True, line=_LINE)


def _event(answer: Answer, part: JsonObject, chars: int) -> Event:
    return plain_event(_response(answer, [part], None), chars, line=_LINE)


def _reason(answer: Answer) -> str:
    return "MAX_TOKENS" if answer.stop == "length" else "STOP"


def _parts(answer: Answer, part: ReplyPart) -> list[JsonObject]:
    match part:
        case Text(text=text):
            return [{"text": text}]
        case Thinking(text=text):
            return [{"text": text, "thought": True}] if _shows_thoughts(answer) else []
        case ToolCall():
            return [_call(answer, part)]


def _call(answer: Answer, call: ToolCall) -> JsonObject:
    function: JsonObject = {"name": call.name, "args": decode(call.args)}
    if call.id:
        function["id"] = call.id
    part: JsonObject = {"functionCall": function}
    first = next(each for each in answer.parts if isinstance(each, ToolCall))
    if call is first and signs_calls(answer.asked.model):
        part["thoughtSignature"] = seal("google", call.args)
    return part


def _shows_thoughts(answer: Answer) -> bool:
    generation = object_at(answer.asked.body, "generationConfig")
    return object_at(generation, "thinkingConfig").get("includeThoughts") is True


def _response(answer: Answer, parts: list[JsonObject], reason: str | None) -> JsonObject:
    candidate: JsonObject = {"content": {"parts": [*parts], "role": "model"}, "index": 0}
    if reason is not None:
        candidate["finishReason"] = reason
    return {
        "candidates": [candidate],
        "usageMetadata": _usage(answer.spent),
        "modelVersion": answer.asked.model,
        "responseId": answer.name[:22],
    }


def _usage(spent: Spent) -> JsonObject:
    usage: JsonObject = {
        "promptTokenCount": spent.input,
        "candidatesTokenCount": spent.output - spent.thought,
        "totalTokenCount": spent.input + spent.output,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": spent.input}],
    }
    if spent.thought:
        usage["thoughtsTokenCount"] = spent.thought
    if spent.read:
        usage["cachedContentTokenCount"] = spent.read
        usage["cacheTokensDetails"] = [{"modality": "TEXT", "tokenCount": spent.read}]
    return usage
