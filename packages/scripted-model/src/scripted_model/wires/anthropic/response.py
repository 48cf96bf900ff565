"""Encodes replies and errors as the Messages API does, as one object or as a stream. Pure."""

from collections.abc import Iterator

from msgspec import structs

from scripted_model.conversation import ModelRequest, ReplyPart, Text, Thinking, ToolCall
from scripted_model.json_values import Json, JsonObject, decode, object_at
from scripted_model.prepared_reply import Pieces, PreparedReply
from scripted_model.signatures import IdGenerator
from scripted_model.usage import TokenUsage
from scripted_model.wires.anthropic.preserved_thinking import sign_summary, sign_thinking
from scripted_model.wires.wire import (
    ErrorResponse,
    StreamEvent,
    Violation,
    named_event,
    retry_headers,
)

_STOPS = {"end": "end_turn", "calls": "tool_use", "length": "max_tokens"}
_KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}
_MESSAGES = {
    429: "This request would exceed your organization's rate limit. Please try again later.",
    500: "Internal server error",
    529: "Overloaded",
}


def new_call_id(request: ModelRequest, ids: IdGenerator) -> str:
    """Returns a tool call id in the form of the API."""
    del request  # ids have the same form for every model
    return f"toolu_01{ids.letters(22)}"


def token_count(total: int) -> JsonObject:
    """Returns the response of `count_tokens`."""
    return {"input_tokens": total}


def response_body(prepared: PreparedReply) -> JsonObject:
    """Returns the message."""
    if prepared.request.wants_compaction:
        return _message(prepared, [*_summary(prepared)], _stop(prepared), _usage_of(prepared))
    content: list[Json] = [_block(prepared, part) for part in prepared.parts]
    return _message(prepared, content, _stop(prepared), _usage_of(prepared))


def stream_events(prepared: PreparedReply) -> Iterator[StreamEvent]:
    """Yields message_start, the blocks, message_delta and message_stop, and a ping early on."""
    started = _usage_of(
        structs.replace(prepared, usage=structs.replace(prepared.usage, output=1, thinking=0))
    )
    yield _event("message_start", message=_message(prepared, [], None, started))
    pieces = Pieces.for_reply(prepared)
    for index, block in enumerate(_summary(prepared)):  # it comes whole
        yield _event(
            "content_block_start", len(str(block["content"])), index=index, content_block=block
        )
        yield _event("content_block_stop", index=index)
    for index, part in enumerate(() if prepared.request.wants_compaction else prepared.parts):
        yield _event("content_block_start", index=index, content_block=_opening(part))
        if index == 0:
            yield _event("ping")
        yield from _deltas(prepared, part, index, pieces)
        yield _event("content_block_stop", index=index)
    delta: JsonObject = {"stop_reason": _stop(prepared), "stop_sequence": None}
    usage = _usage_of(prepared)
    usage.pop("service_tier")
    yield _event("message_delta", closing=True, delta=delta, usage=usage)
    yield _event("message_stop", closing=True)


def _message(
    prepared: PreparedReply, content: list[Json], stop: str | None, usage: JsonObject
) -> JsonObject:
    return {
        "id": f"msg_01{prepared.name[:22]}",
        "type": "message",
        "role": "assistant",
        "model": prepared.request.model,
        "content": content,
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": usage,
        **prepared.request.reported,
    }


def _stop(prepared: PreparedReply) -> str:
    return "compaction" if _summary(prepared) else _STOPS[prepared.stop]


def _summary(prepared: PreparedReply) -> list[JsonObject]:
    """The block with the summary that was asked for. There is none unless the model finished it."""
    request = prepared.request
    text = "".join(part.text for part in prepared.parts if isinstance(part, Text))
    if not request.wants_compaction or prepared.stop != "end" or not text.strip():
        return []
    return [{"type": "compaction", "content": text, "signature": sign_summary(request.body, text)}]


def _block(prepared: PreparedReply, part: ReplyPart) -> JsonObject:
    match part:
        case Text(text=text):
            return {"type": "text", "text": text}
        case Thinking(text=text):
            shown = "" if _is_omitted(prepared) else text
            return {
                "type": "thinking",
                "thinking": shown,
                "signature": sign_thinking(prepared.request.body, text),
            }
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


def _deltas(
    prepared: PreparedReply, part: ReplyPart, index: int, pieces: Pieces
) -> Iterator[StreamEvent]:
    match part:
        case Text(text=text):
            for piece in pieces.of(text):
                yield _delta(index, len(piece), type="text_delta", text=piece)
        case Thinking(text=text):
            if not _is_omitted(prepared):
                for piece in pieces.of(text):
                    yield _delta(index, len(piece), type="thinking_delta", thinking=piece)
            yield _delta(
                index,
                0,
                type="signature_delta",
                signature=sign_thinking(prepared.request.body, text),
            )
        case ToolCall(args=args):
            yield _delta(index, 0, type="input_json_delta", partial_json="")
            for piece in pieces.of(args):
                yield _delta(index, len(piece), type="input_json_delta", partial_json=piece)


def _delta(index: int, chars: int, **delta: Json) -> StreamEvent:
    return _event("content_block_delta", chars, index=index, delta=delta)


def _event(name: str, chars: int = 0, *, closing: bool = False, **data: Json) -> StreamEvent:
    return named_event(name, {"type": name, **data}, chars, closing=closing)


def _is_omitted(prepared: PreparedReply) -> bool:
    return object_at(prepared.request.body, "thinking").get("display") == "omitted"


def _usage_of(prepared: PreparedReply) -> JsonObject:
    """The usage. That of a summary is an iteration of its own, and there is no reply to count."""
    counts = _usage(prepared.usage)
    if not prepared.request.wants_compaction:
        return counts
    call: JsonObject = {name: count for name, count in counts.items() if name.endswith("tokens")}
    return {**_usage(TokenUsage(0)), "iterations": [{"type": "compaction", **call}]}


def _usage(usage: TokenUsage) -> JsonObject:
    counts: JsonObject = {
        "input_tokens": usage.uncached,
        "cache_creation_input_tokens": usage.cache_write,
        "cache_read_input_tokens": usage.cache_read,
        "cache_creation": {
            "ephemeral_5m_input_tokens": usage.cache_write - usage.cache_write_1h,
            "ephemeral_1h_input_tokens": usage.cache_write_1h,
        },
        "output_tokens": usage.output,
        "service_tier": "standard",
    }
    if usage.thinking:
        counts["output_tokens_details"] = {"thinking_tokens": usage.thinking}
    return counts


def invalid_request_error(violation: Violation, ids: IdGenerator) -> ErrorResponse:
    return _error_response(violation.status, violation.message, ids, code=violation.code)


def wrong_key_error(ids: IdGenerator) -> ErrorResponse:
    return _error_response(401, "invalid x-api-key", ids)


def unknown_model_error(model: str, ids: IdGenerator) -> ErrorResponse:
    return _error_response(404, f"model: {model}", ids)


def context_length_error(prepared: PreparedReply, limit: int) -> ErrorResponse:
    message = f"prompt is too long: {prepared.usage.input} tokens > {limit} maximum"
    return _error_response(400, message, prepared.ids)


def scripted_error(status: int, retry_after: float, ids: IdGenerator) -> ErrorResponse:
    return _error_response(status, _message_for(status), ids, retry_headers(status, retry_after))


def stream_error_events(prepared: PreparedReply, status: int, sent: int) -> list[StreamEvent]:
    del prepared, sent  # not needed in this format
    return [named_event("error", {"type": "error", "error": _error(status, _message_for(status))})]


def _message_for(status: int) -> str:
    return _MESSAGES.get(status, f"The script asked for status {status}.")


def _error(status: int, message: str, code: str | None = None) -> JsonObject:
    details: JsonObject = {"details": {"error_code": code}} if code else {}
    return {"type": _KINDS.get(status, "api_error"), "message": message, **details}


def _error_response(
    status: int,
    message: str,
    ids: IdGenerator,
    headers: dict[str, str] | None = None,
    code: str | None = None,
) -> ErrorResponse:
    request = f"req_011{ids.letters(21)}"
    body: JsonObject = {
        "type": "error",
        "error": _error(status, message, code),
        "request_id": request,
    }
    return ErrorResponse(status, body, {"request-id": request, **(headers or {})})
