"""Errors that only the Responses API words in this way. Pure."""

from sapwood.testing.scripted.jsontree import JsonObject
from sapwood.testing.scripted.wires.openai import (
    error_of,
    failure_code,
    failure_words,
    refusal,
)
from sapwood.testing.scripted.wires.responses.frame import frame
from sapwood.testing.scripted.wires.sse import named_event
from sapwood.testing.scripted.wires.wire import Answer, Event, Refusal

__all__ = ["broken", "too_long"]

_TOO_LONG = (
    "Your input exceeds the context window of this model. Please adjust your input and try again."
)


def too_long(answer: Answer, limit: int) -> Refusal | list[Event]:
    """A stream begins well and then says it; this API gives no figures."""
    del limit
    error = error_of(400, _TOO_LONG, "input", "context_length_exceeded")
    if not answer.asked.stream:
        return refusal(400, error, answer.mint)
    started = frame(answer, "in_progress", [])
    opening = [
        _event("response.created", 0, {"response": started}),
        _event("response.in_progress", 1, {"response": started}),
    ]
    return opening + _failure(answer, error, len(opening))


def broken(answer: Answer, status: int, sent: int) -> list[Event]:
    status = 503 if status == 529 else status
    error = error_of(status, failure_words(status), code=failure_code(status))
    return _failure(answer, error, sent)


def _failure(answer: Answer, error: JsonObject, sent: int) -> list[Event]:
    ended = frame(answer, "failed", [])
    ended["error"] = {"code": error["code"], "message": error["message"]}
    return [
        _event("error", sent, {"error": error}),
        _event("response.failed", sent + 1, {"response": ended}),
    ]


def _event(kind: str, number: int, data: JsonObject) -> Event:
    return named_event(kind, {"type": kind, "sequence_number": number, **data})
