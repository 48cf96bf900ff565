"""Encodes replies and errors as Chat Completions does, as one object or as a stream. Pure."""

from collections.abc import Iterator

from scripted_model.conversation import Text, ToolCall
from scripted_model.json_values import Json, JsonObject, object_at
from scripted_model.prepared_reply import Pieces, PreparedReply
from scripted_model.wires.openai import (
    cache_writes,
    error_of,
    error_response,
    openai_status,
    scripted_failure,
    text_input,
)
from scripted_model.wires.wire import ErrorResponse, StreamEvent, plain_event

_STOPS = {"end": "stop", "calls": "tool_calls", "length": "length"}


def token_count(total: int) -> JsonObject:
    """Not part of this API, which has no token counts before a reply."""
    return {"input_tokens": total}


def response_body(prepared: PreparedReply) -> JsonObject:
    """Returns the completion. As in the real API, thinking appears only in the usage."""
    text = "".join(part.text for part in prepared.parts if isinstance(part, Text))
    calls: list[Json] = [_call(prepared, call) for call in _calls(prepared)]
    message: JsonObject = {"role": "assistant", "content": text or None, "refusal": None}
    if calls:
        message["tool_calls"] = calls
    else:
        message["annotations"] = []
    choice: JsonObject = {
        "index": 0,
        "message": message,
        "logprobs": None,
        "finish_reason": _STOPS[prepared.stop],
    }
    return {
        **_frame(prepared, "chat.completion"),
        "choices": [choice],
        "usage": _usage(prepared),
        "system_fingerprint": "fp_scripted",
    }


def stream_events(prepared: PreparedReply) -> Iterator[StreamEvent]:
    """Yields the role, the pieces, the stop reason, the usage if requested, and `[DONE]`."""
    response_object = _frame(prepared, "chat.completion.chunk")
    options = object_at(prepared.request.body, "stream_options")
    counts = options.get("include_usage") is True
    if counts:
        response_object["usage"] = None
    yield _chunk(response_object, {"role": "assistant", "content": "", "refusal": None})
    pieces = Pieces.for_reply(prepared)
    number = 0
    for part in prepared.parts:
        if isinstance(part, Text):
            for piece in pieces.of(part.text):
                yield _chunk(response_object, {"content": piece}, len(piece))
        elif isinstance(part, ToolCall):
            yield from _call_chunks(prepared, response_object, part, number, pieces)
            number += 1
    yield _chunk(response_object, {}, stop=_STOPS[prepared.stop])
    if counts:
        usage: JsonObject = {**response_object, "choices": [], "usage": _usage(prepared)}
        yield plain_event(usage, closing=True)
    yield StreamEvent(b"data: [DONE]\n\n", closing=True)


def _frame(prepared: PreparedReply, kind: str) -> JsonObject:
    return {
        "id": f"chatcmpl-{prepared.ids.letters(29)}",
        "object": kind,
        "created": prepared.created,
        "model": prepared.request.model,
        "service_tier": "default",
    }


def _chunk(
    response_object: JsonObject, delta: JsonObject, chars: int = 0, stop: str | None = None
) -> StreamEvent:
    choice: JsonObject = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": stop}
    return plain_event({**response_object, "choices": [choice]}, chars, closing=stop is not None)


def _call_chunks(
    prepared: PreparedReply,
    response_object: JsonObject,
    call: ToolCall,
    number: int,
    pieces: Pieces,
) -> Iterator[StreamEvent]:
    """Yields a chunk with the name of the tool, then chunks with its arguments."""
    whole_call = _call(prepared, call)
    kind, argument = (
        ("custom", "input") if _takes_text(prepared, call) else ("function", "arguments")
    )
    inner = object_at(whole_call, kind)
    opening: JsonObject = {**whole_call, "index": number, kind: {**inner, argument: ""}}
    yield _chunk(response_object, {"tool_calls": [opening]})
    for piece in pieces.of(str(inner[argument])):
        more: JsonObject = {"index": number, kind: {argument: piece}}
        yield _chunk(response_object, {"tool_calls": [more]}, len(piece))


def _calls(prepared: PreparedReply) -> list[ToolCall]:
    return [part for part in prepared.parts if isinstance(part, ToolCall)]


def _call(prepared: PreparedReply, call: ToolCall) -> JsonObject:
    if _takes_text(prepared, call):
        custom: JsonObject = {"name": call.name, "input": text_input(call.args)}
        return {"id": call.id, "type": "custom", "custom": custom}
    function: JsonObject = {"name": call.name, "arguments": call.args}
    return {"id": call.id, "type": "function", "function": function}


def _takes_text(prepared: PreparedReply, call: ToolCall) -> bool:
    tool = prepared.request.tool(call.name)
    return tool is not None and tool.takes_text


def _usage(prepared: PreparedReply) -> JsonObject:
    usage = prepared.usage
    return {
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.input + usage.output,
        "prompt_tokens_details": {
            "cached_tokens": usage.cache_read,
            "cache_write_tokens": cache_writes(prepared),
            "audio_tokens": 0,
        },
        "completion_tokens_details": {
            "reasoning_tokens": usage.thinking,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    }


def context_length_error(prepared: PreparedReply, limit: int) -> ErrorResponse:
    message = (
        f"This model's maximum context length is {limit} tokens. However, your messages resulted "
        f"in {prepared.usage.input} tokens. Please reduce the length of the messages."
    )
    error = error_of(400, message, "messages", "context_length_exceeded")
    return error_response(400, error, prepared.ids)


def stream_error_events(prepared: PreparedReply, status: int, sent: int) -> list[StreamEvent]:
    del prepared, sent  # not needed in this format
    return [plain_event({"error": scripted_failure(openai_status(status))})]
