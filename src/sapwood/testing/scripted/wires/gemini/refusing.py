"""Errors in the words and form of Google's APIs. Pure."""

from sapwood.testing.scripted.jsontree import Json, JsonObject
from sapwood.testing.scripted.signing import Mint
from sapwood.testing.scripted.wires.retrying import retry_headers
from sapwood.testing.scripted.wires.sse import plain_event
from sapwood.testing.scripted.wires.wire import Answer, Event, Refusal, Violation

__all__ = ["broken", "failed", "invalid", "too_long", "unauthorized", "unknown_model"]

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
_WORDS = {
    429: "You exceeded your current quota, please check your plan and billing details.",
    500: "An internal error has occurred. Please retry.",
    503: "The model is overloaded. Please try again later.",
}
_TYPES = "type.googleapis.com/google.rpc"


def invalid(violation: Violation, mint: Mint) -> Refusal:
    del mint
    field: JsonObject = {"description": violation.message}
    if violation.param:
        field["field"] = violation.param
    details: Json = [{"@type": f"{_TYPES}.BadRequest", "fieldViolations": [field]}]
    return Refusal(violation.status, _error(violation.status, violation.message, details))


def unauthorized(mint: Mint) -> Refusal:
    """A wrong key is an invalid argument here."""
    del mint
    message = "API key not valid. Please pass a valid API key."
    reason: JsonObject = {
        "@type": f"{_TYPES}.ErrorInfo",
        "reason": "API_KEY_INVALID",
        "domain": "googleapis.com",
    }
    return Refusal(400, _error(400, message, [reason]))


def unknown_model(model: str, mint: Mint) -> Refusal:
    del mint
    message = (
        f"models/{model} is not found for API version v1beta, or is not supported for "
        "generateContent. Call ListModels to see the list of available models and their supported "
        "methods."
    )
    return Refusal(404, _error(404, message))


def too_long(answer: Answer, limit: int) -> Refusal:
    message = (
        f"The input token count ({answer.spent.input}) exceeds the maximum number of tokens "
        f"allowed ({limit})."
    )
    return Refusal(400, _error(400, message))


def failed(status: int, retry_after: float, mint: Mint) -> Refusal:
    del mint
    status = 503 if status == 529 else status  # what Anthropic says with 529
    delay: JsonObject = {"@type": f"{_TYPES}.RetryInfo", "retryDelay": f"{retry_after:g}s"}
    details: Json = [delay] if status == 429 else None
    body = _error(status, _words(status), details)
    return Refusal(status, body, retry_headers(status, retry_after))


def broken(answer: Answer, status: int, sent: int) -> list[Event]:
    del answer, sent  # this format needs neither
    status = 503 if status == 529 else status
    return [plain_event(_error(status, _words(status)), line=b"\r\n")]


def _words(status: int) -> str:
    return _WORDS.get(status, f"The script asked for status {status}.")


def _error(status: int, message: str, details: Json = None) -> JsonObject:
    error: JsonObject = {
        "code": status,
        "message": message,
        "status": _STATUSES.get(status, "UNKNOWN"),
    }
    if details:
        error["details"] = details
    return {"error": error}
