"""Errors in the words and form of Anthropic's API. Pure."""

from sapwood.testing.scripted.jsontree import JsonObject
from sapwood.testing.scripted.signing import Mint
from sapwood.testing.scripted.wires.retrying import retry_headers
from sapwood.testing.scripted.wires.sse import named_event
from sapwood.testing.scripted.wires.wire import Answer, Event, Refusal, Violation

__all__ = ["broken", "failed", "invalid", "too_long", "unauthorized", "unknown_model"]

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
_WORDS = {
    429: "This request would exceed your organization's rate limit. Please try again later.",
    500: "Internal server error",
    529: "Overloaded",
}


def invalid(violation: Violation, mint: Mint) -> Refusal:
    return _refusal(violation.status, violation.message, mint)


def unauthorized(mint: Mint) -> Refusal:
    return _refusal(401, "invalid x-api-key", mint)


def unknown_model(model: str, mint: Mint) -> Refusal:
    return _refusal(404, f"model: {model}", mint)


def too_long(answer: Answer, limit: int) -> Refusal:
    message = f"prompt is too long: {answer.spent.input} tokens > {limit} maximum"
    return _refusal(400, message, answer.mint)


def failed(status: int, retry_after: float, mint: Mint) -> Refusal:
    return _refusal(status, _words(status), mint, retry_headers(status, retry_after))


def broken(answer: Answer, status: int, sent: int) -> list[Event]:
    del answer, sent  # this format needs neither
    return [named_event("error", {"type": "error", "error": _error(status, _words(status))})]


def _words(status: int) -> str:
    return _WORDS.get(status, f"The script asked for status {status}.")


def _error(status: int, message: str) -> JsonObject:
    return {"type": _KINDS.get(status, "api_error"), "message": message}


def _refusal(
    status: int, message: str, mint: Mint, headers: dict[str, str] | None = None
) -> Refusal:
    request = f"req_011{mint.letters(21)}"
    body: JsonObject = {
        "type": "error",
        "error": _error(status, message),
        "request_id": request,
    }
    return Refusal(status, body, {"request-id": request, **(headers or {})})
