"""From a reply to what the Chat Completions API sends, whole or as a stream. Pure."""

from collections.abc import Iterator

from sapwood.core.content import Text, ToolCall
from sapwood.testing.scripted.asked import Asked
from sapwood.testing.scripted.jsontree import Json, JsonObject, object_at
from sapwood.testing.scripted.signing import Mint
from sapwood.testing.scripted.usage import Spent
from sapwood.testing.scripted.wires.free import free_text
from sapwood.testing.scripted.wires.pieces import Pieces
from sapwood.testing.scripted.wires.sse import plain_event
from sapwood.testing.scripted.wires.wire import Answer, Event

__all__ = ["call_id", "counted", "events", "whole"]

_STOPS = {"end": "stop", "calls": "tool_calls", "length": "length"}


def call_id(asked: Asked, mint: Mint) -> str:
    """An id as the API makes them."""
    del asked  # every model's look the same
    return f"call_{mint.letters(24)}"


def counted(total: int) -> JsonObject:
    """This API counts nothing beforehand."""
    return {"input_tokens": total}


def whole(answer: Answer) -> JsonObject:
    """The completion. Thinking shows only in the usage, as with the real one."""
    text = "".join(part.text for part in answer.parts if isinstance(part, Text))
    calls: list[Json] = [_call(answer, call) for call in _calls(answer)]
    message: JsonObject = {"role": "assistant", "content": text or None, "refusal": None}
    if calls:
        message["tool_calls"] = calls
    else:
        message["annotations"] = []
    choice: JsonObject = {
        "index": 0,
        "message": message,
        "logprobs": None,
        "finish_reason": _STOPS[answer.stop],
    }
    return {
        **_frame(answer, "chat.completion"),
        "choices": [choice],
        "usage": _usage(answer.spent),
        "system_fingerprint": "fp_scripted",
    }


def events(answer: Answer) -> Iterator[Event]:
    """Chunks: the role, the pieces, the reason to stop, the usage if asked for, and `[DONE]`."""
    frame = _frame(answer, "chat.completion.chunk")
    options = object_at(answer.asked.body, "stream_options")
    counts = options.get("include_usage") is True
    if counts:
        frame["usage"] = None
    yield _chunk(frame, {"role": "assistant", "content": "", "refusal": None})
    pieces = Pieces.for_answer(answer)
    number = 0
    for part in answer.parts:
        if isinstance(part, Text):
            for piece in pieces.of(part.text):
                yield _chunk(frame, {"content": piece}, len(piece))
        elif isinstance(part, ToolCall):
            yield from _call_chunks(answer, frame, part, number, pieces)
            number += 1
    yield _chunk(frame, {}, stop=_STOPS[answer.stop])
    if counts:
        usage: JsonObject = {**frame, "choices": [], "usage": _usage(answer.spent)}
        yield plain_event(usage, closing=True)
    yield Event(b"data: [DONE]\n\n", closing=True)


def _frame(answer: Answer, kind: str) -> JsonObject:
    return {
        "id": f"chatcmpl-{answer.mint.letters(29)}",
        "object": kind,
        "created": answer.created,
        "model": answer.asked.model,
        "service_tier": "default",
    }


def _chunk(frame: JsonObject, delta: JsonObject, chars: int = 0, stop: str | None = None) -> Event:
    choice: JsonObject = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": stop}
    return plain_event({**frame, "choices": [choice]}, chars, closing=stop is not None)


def _call_chunks(
    answer: Answer, frame: JsonObject, call: ToolCall, number: int, pieces: Pieces
) -> Iterator[Event]:
    """The first chunk names the tool, the others bring its arguments."""
    whole_call = _call(answer, call)
    kind, argument = ("custom", "input") if _is_free(answer, call) else ("function", "arguments")
    inner = object_at(whole_call, kind)
    opening: JsonObject = {**whole_call, "index": number, kind: {**inner, argument: ""}}
    yield _chunk(frame, {"tool_calls": [opening]})
    for piece in pieces.of(str(inner[argument])):
        more: JsonObject = {"index": number, kind: {argument: piece}}
        yield _chunk(frame, {"tool_calls": [more]}, len(piece))


def _calls(answer: Answer) -> list[ToolCall]:
    return [part for part in answer.parts if isinstance(part, ToolCall)]


def _call(answer: Answer, call: ToolCall) -> JsonObject:
    if _is_free(answer, call):
        custom: JsonObject = {"name": call.name, "input": free_text(call.args)}
        return {"id": call.id, "type": "custom", "custom": custom}
    function: JsonObject = {"name": call.name, "arguments": call.args}
    return {"id": call.id, "type": "function", "function": function}


def _is_free(answer: Answer, call: ToolCall) -> bool:
    tool = answer.asked.tool(call.name)
    return tool is not None and tool.free


def _usage(spent: Spent) -> JsonObject:
    return {
        "prompt_tokens": spent.input,
        "completion_tokens": spent.output,
        "total_tokens": spent.input + spent.output,
        "prompt_tokens_details": {"cached_tokens": spent.read, "audio_tokens": 0},
        "completion_tokens_details": {
            "reasoning_tokens": spent.thought,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    }
