"""Anthropic's Messages API: `POST /v1/messages`. The package is a `Wire`."""

from scripted_model.wires.anthropic.request import cache_segments as cache_segments
from scripted_model.wires.anthropic.request import parse_request as parse_request
from scripted_model.wires.anthropic.response import context_length_error as context_length_error
from scripted_model.wires.anthropic.response import invalid_request_error as invalid_request_error
from scripted_model.wires.anthropic.response import new_call_id as new_call_id
from scripted_model.wires.anthropic.response import response_body as response_body
from scripted_model.wires.anthropic.response import scripted_error as scripted_error
from scripted_model.wires.anthropic.response import stream_error_events as stream_error_events
from scripted_model.wires.anthropic.response import stream_events as stream_events
from scripted_model.wires.anthropic.response import token_count as token_count
from scripted_model.wires.anthropic.response import unknown_model_error as unknown_model_error
from scripted_model.wires.anthropic.response import wrong_key_error as wrong_key_error
from scripted_model.wires.anthropic.validation import first_violation as first_violation

name = "anthropic"
vendor = "anthropic"
