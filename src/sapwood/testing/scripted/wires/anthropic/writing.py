"""From a reply to what the Messages API sends, whole or as a stream. Pure."""

from collections.abc import Iterator

from msgspec import structs

from sapwood.core.content import ReplyPart, Text, Thinking, ToolCall
from sapwood.testing.scripted.asked import Asked
from sapwood.testing.scripted.jsontree import Json, JsonObject, decode, object_at
from sapwood.testing.scripted.signing import Mint, seal
from sapwood.testing.scripted.usage import Spent
from sapwood.testing.scripted.wires.pieces import Pieces
from sapwood.testing.scripted.wires.sse import named_event
from sapwood.testing.scripted.wires.wire import Answer, Event

__all__ = ["call_id", "counted", "events", "whole"]

_STOPS = {"end": "end_turn", "calls": "tool_use", "length": "max_tokens"}


def call_id(asked: Asked, mint: Mint) -> str:
    """An id as the API makes them."""
    del asked  # every model's look the same
    return f"toolu_01{mint.letters(22)}"


def counted(total: int) -> JsonObject:
    """The answer of `count_tokens`."""
    return {"input_tokens": total}


def whole(answer: Answer) -> JsonObject:
    """The message."""
    content: list[Json] = [_block(answer, part) for part in answer.parts]
    return _message(answer, content, _STOPS[answer.stop], _usage(answer.spent))


def events(answer: Answer) -> Iterator[Event]:
    """message_start, the blocks, message_delta, message_stop; a ping early on."""
    started = _usage(structs.replace(answer.spent, output=1, thought=0))
    yield _event("message_start", message=_message(answer, [], None, started))
    pieces = Pieces.for_answer(answer)
    for index, part in enumerate(answer.parts):
        yield _event("content_block_start", index=index, content_block=_opening(part))
        if index == 0:
            yield _event("ping")
        yield from _deltas(answer, part, index, pieces)
        yield _event("content_block_stop", index=index)
    delta: JsonObject = {"stop_reason": _STOPS[answer.stop], "stop_sequence": None}
    usage = _usage(answer.spent)
    usage.pop("service_tier")
    yield _event("message_delta", closing=True, delta=delta, usage=usage)
    yield _event("message_stop", closing=True)


def _message(
    answer: Answer, content: list[Json], stop: str | None, usage: JsonObject
) -> JsonObject:
    return {
        "id": f"msg_01{answer.mint.letters(22)}",
        "type": "message",
        "role": "assistant",
        "model": answer.asked.model,
        "content": content,
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": usage,
    }


def _block(answer: Answer, part: ReplyPart) -> JsonObject:
    match part:
        case Text(text=text):
            return {"type": "text", "text": text}
        case Thinking(text=text):
            shown = "" if _is_omitted(answer) else text
            return {"type": "thinking", "thinking": shown, "signature": seal("anthropic", text)}
        case ToolCall(id=call, name=name, args=args):
            return {"type": "tool_use", "id": call, "name": name, "input": decode(args)}


def _opening(part: ReplyPart) -> JsonObject:
    match part:
        case Text():
            return {"type": "text", "text": ""}
        case Thinking():
            return {"type": "thinking", "thinking": "", "signature": ""}
        case ToolCall(id=call, name=name):
            return {"type": "tool_use", "id": call, "name": name, "input": {}}


def _deltas(answer: Answer, part: ReplyPart, index: int, pieces: Pieces) -> Iterator[Event]:
    match part:
        case Text(text=text):
            for piece in pieces.of(text):
                yield _delta(index, len(piece), type="text_delta", text=piece)
        case Thinking(text=text):
            if not _is_omitted(answer):
                for piece in pieces.of(text):
                    yield _delta(index, len(piece), type="thinking_delta", thinking=piece)
            yield _delta(index, 0, type="signature_delta", signature=seal("anthropic", text))
        case ToolCall(args=args):
            yield _delta(index, 0, type="input_json_delta", partial_json="")
            for piece in pieces.of(args):
                yield _delta(index, len(piece), type="input_json_delta", partial_json=piece)


def _delta(index: int, chars: int, **delta: Json) -> Event:
    return _event("content_block_delta", chars, index=index, delta=delta)


def _event(name: str, chars: int = 0, *, closing: bool = False, **data: Json) -> Event:
    return named_event(name, {"type": name, **data}, chars, closing=closing)


def _is_omitted(answer: Answer) -> bool:
    return object_at(answer.asked.body, "thinking").get("display") == "omitted"


def _usage(spent: Spent) -> JsonObject:
    usage: JsonObject = {
        "input_tokens": spent.fresh,
        "cache_creation_input_tokens": spent.written,
        "cache_read_input_tokens": spent.read,
        "cache_creation": {
            "ephemeral_5m_input_tokens": spent.written - spent.written_1h,
            "ephemeral_1h_input_tokens": spent.written_1h,
        },
        "output_tokens": spent.output,
        "service_tier": "standard",
    }
    if spent.thought:
        usage["output_tokens_details"] = {"thinking_tokens": spent.thought}
    return usage
