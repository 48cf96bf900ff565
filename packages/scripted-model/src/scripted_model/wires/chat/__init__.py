"""OpenAI's Chat Completions API: `POST /v1/chat/completions`. The package is a `Wire`."""

from scripted_model.wires.chat.request import cache_segments, parse_request
from scripted_model.wires.chat.response import (
    context_length_error,
    new_call_id,
    response_body,
    stream_error_events,
    stream_events,
    token_count,
)
from scripted_model.wires.chat.validation import first_violation
from scripted_model.wires.openai import (
    invalid_request_error,
    scripted_error,
    unknown_model_error,
    wrong_key_error,
)

__all__ = [
    "cache_segments",
    "context_length_error",
    "first_violation",
    "invalid_request_error",
    "name",
    "new_call_id",
    "parse_request",
    "response_body",
    "scripted_error",
    "stream_error_events",
    "stream_events",
    "token_count",
    "unknown_model_error",
    "vendor",
    "wrong_key_error",
]


name = "chat"
vendor = "openai"
