"""Errors that only the Chat Completions API words in this way. Pure."""

from sapwood.testing.scripted.wires.openai import (
    error_of,
    failure_code,
    failure_words,
    refusal,
)
from sapwood.testing.scripted.wires.sse import plain_event
from sapwood.testing.scripted.wires.wire import Answer, Event, Refusal

__all__ = ["broken", "too_long"]


def too_long(answer: Answer, limit: int) -> Refusal:
    message = (
        f"This model's maximum context length is {limit} tokens. However, your messages resulted "
        f"in {answer.spent.input} tokens. Please reduce the length of the messages."
    )
    error = error_of(400, message, "messages", "context_length_exceeded")
    return refusal(400, error, answer.mint)


def broken(answer: Answer, status: int, sent: int) -> list[Event]:
    del answer, sent  # this format needs neither
    status = 503 if status == 529 else status
    error = error_of(status, failure_words(status), code=failure_code(status))
    return [plain_event({"error": error})]
