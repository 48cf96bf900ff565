"""Encodes replies and errors as the Gemini API does, as one object or as a stream. Pure."""

from collections.abc import Iterator

from scripted_model.conversation import ModelRequest, ReplyPart, Text, Thinking, ToolCall
from scripted_model.json_values import Json, JsonObject, decode, object_at
from scripted_model.prepared_reply import Pieces, PreparedReply
from scripted_model.signatures import IdGenerator, sign_text
from scripted_model.usage import TokenUsage
from scripted_model.wires.gemini.fields import signs_calls
from scripted_model.wires.wire import (
    ErrorResponse,
    StreamEvent,
    Violation,
    plain_event,
    retry_headers,
)

_LINE = b"\r\n"
_STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
_MESSAGES = {
    429: "You exceeded your current quota, please check your plan and billing details.",
    500: "An internal error has occurred. Please retry.",
    503: "The model is overloaded. Please try again later.",
}
_TYPES = "type.googleapis.com/google.rpc"


def new_call_id(request: ModelRequest, ids: IdGenerator) -> str:
    """Returns a function call id. Models before Gemini 3 have none."""
    return ids.letters(8).lower() if signs_calls(request.model) else ""


def token_count(total: int) -> JsonObject:
    """Returns the response of `countTokens`."""
    details: list[Json] = [{"modality": "TEXT", "tokenCount": total}]
    return {"totalTokens": total, "promptTokensDetails": details}


def response_body(prepared: PreparedReply) -> JsonObject:
    """Returns the response."""
    parts = [part for given in prepared.parts for part in _parts(prepared, given)]
    return _response(prepared, parts, _reason(prepared))


def stream_events(prepared: PreparedReply) -> Iterator[StreamEvent]:
    """Yields a response per piece, and a last one with the stop reason. Calls are not split."""
    pieces = Pieces.for_reply(prepared)
    for given in prepared.parts:
        for part in _parts(prepared, given):
            if "text" not in part:
                call = given.args if isinstance(given, ToolCall) else ""
                yield _event(prepared, part, len(call))
                continue
            for piece in pieces.of(str(part["text"])):
                yield _event(prepared, {**part, "text": piece}, len(piece))
    final = _response(prepared, [{"text": ""}], _reason(prepared))
    yield plain_event(final, closing=True, line=_LINE)


def _event(prepared: PreparedReply, part: JsonObject, chars: int) -> StreamEvent:
    return plain_event(_response(prepared, [part], None), chars, line=_LINE)


def _reason(prepared: PreparedReply) -> str:
    return "MAX_TOKENS" if prepared.stop == "length" else "STOP"


def _parts(prepared: PreparedReply, part: ReplyPart) -> list[JsonObject]:
    match part:
        case Text(text=text):
            return [{"text": text}]
        case Thinking(text=text):
            return [{"text": text, "thought": True}] if _shows_thoughts(prepared) else []
        case ToolCall():
            return [_call(prepared, part)]


def _call(prepared: PreparedReply, call: ToolCall) -> JsonObject:
    function: JsonObject = {"name": call.name, "args": decode(call.args)}
    if call.id:
        function["id"] = call.id
    part: JsonObject = {"functionCall": function}
    first = next(each for each in prepared.parts if isinstance(each, ToolCall))
    if call is first and signs_calls(prepared.request.model):
        part["thoughtSignature"] = sign_text("google", call.args)
    return part


def _shows_thoughts(prepared: PreparedReply) -> bool:
    generation = object_at(prepared.request.body, "generationConfig")
    return object_at(generation, "thinkingConfig").get("includeThoughts") is True


def _response(prepared: PreparedReply, parts: list[JsonObject], reason: str | None) -> JsonObject:
    candidate: JsonObject = {"content": {"parts": [*parts], "role": "model"}, "index": 0}
    if reason is not None:
        candidate["finishReason"] = reason
    return {
        "candidates": [candidate],
        "usageMetadata": _usage(prepared.usage),
        "modelVersion": prepared.request.model,
        "responseId": prepared.name[:22],
    }


def _usage(usage: TokenUsage) -> JsonObject:
    counts: JsonObject = {
        "promptTokenCount": usage.input,
        "candidatesTokenCount": usage.output - usage.thinking,
        "totalTokenCount": usage.input + usage.output,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": usage.input}],
    }
    if usage.thinking:
        counts["thoughtsTokenCount"] = usage.thinking
    if usage.cache_read:
        counts["cachedContentTokenCount"] = usage.cache_read
        counts["cacheTokensDetails"] = [{"modality": "TEXT", "tokenCount": usage.cache_read}]
    return counts


def invalid_request_error(violation: Violation, ids: IdGenerator) -> ErrorResponse:
    del ids
    field: JsonObject = {"description": violation.message}
    if violation.param:
        field["field"] = violation.param
    details: Json = [{"@type": f"{_TYPES}.BadRequest", "fieldViolations": [field]}]
    return ErrorResponse(violation.status, _error(violation.status, violation.message, details))


def wrong_key_error(ids: IdGenerator) -> ErrorResponse:
    """In this API, a wrong key is an invalid argument."""
    del ids
    message = "API key not valid. Please pass a valid API key."
    reason: JsonObject = {
        "@type": f"{_TYPES}.ErrorInfo",
        "reason": "API_KEY_INVALID",
        "domain": "googleapis.com",
    }
    return ErrorResponse(400, _error(400, message, [reason]))


def unknown_model_error(model: str, ids: IdGenerator) -> ErrorResponse:
    del ids
    message = (
        f"models/{model} is not found for API version v1beta, or is not supported for "
        "generateContent. Call ListModels to see the list of available models and their supported "
        "methods."
    )
    return ErrorResponse(404, _error(404, message))


def context_length_error(prepared: PreparedReply, limit: int) -> ErrorResponse:
    message = (
        f"The input token count ({prepared.usage.input}) exceeds the maximum number of tokens "
        f"allowed ({limit})."
    )
    return ErrorResponse(400, _error(400, message))


def scripted_error(status: int, retry_after: float, ids: IdGenerator) -> ErrorResponse:
    del ids
    status = 503 if status == 529 else status  # 529 is an Anthropic status
    delay: JsonObject = {"@type": f"{_TYPES}.RetryInfo", "retryDelay": f"{retry_after:g}s"}
    details: Json = [delay] if status == 429 else None
    body = _error(status, _message_for(status), details)
    return ErrorResponse(status, body, retry_headers(status, retry_after))


def stream_error_events(prepared: PreparedReply, status: int, sent: int) -> list[StreamEvent]:
    del prepared, sent  # not needed in this format
    status = 503 if status == 529 else status
    return [plain_event(_error(status, _message_for(status)), line=b"\r\n")]


def _message_for(status: int) -> str:
    return _MESSAGES.get(status, f"The script asked for status {status}.")


def _error(status: int, message: str, details: Json = None) -> JsonObject:
    error: JsonObject = {
        "code": status,
        "message": message,
        "status": _STATUSES.get(status, "UNKNOWN"),
    }
    if details:
        error["details"] = details
    return {"error": error}
