"""Anthropic's Messages API: `POST /v1/messages`. The package is a `Wire`."""

from scripted_model.wires.anthropic.request import cache_segments, parse_request
from scripted_model.wires.anthropic.response import (
    context_length_error,
    invalid_request_error,
    new_call_id,
    response_body,
    scripted_error,
    stream_error_events,
    stream_events,
    token_count,
    unknown_model_error,
    wrong_key_error,
)
from scripted_model.wires.anthropic.validation import first_violation

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


name = "anthropic"
vendor = "anthropic"
