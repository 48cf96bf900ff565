"""OpenAI's Responses API: `POST /v1/responses`. The package is a `Wire`."""

from scripted_model.wires.openai import (
    invalid_request_error,
    scripted_error,
    unknown_model_error,
    wrong_key_error,
)
from scripted_model.wires.responses.request import cache_segments, parse_request
from scripted_model.wires.responses.response import (
    context_length_error,
    new_call_id,
    response_body,
    stream_error_events,
    stream_events,
    token_count,
)
from scripted_model.wires.responses.validation import first_violation

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


name = "responses"
vendor = "openai"
