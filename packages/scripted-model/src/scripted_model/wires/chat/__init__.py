"""OpenAI's Chat Completions API: `POST /v1/chat/completions`. The package is a `Wire`."""

from scripted_model.wires.chat.request import cache_segments as cache_segments
from scripted_model.wires.chat.request import parse_request as parse_request
from scripted_model.wires.chat.response import context_length_error as context_length_error
from scripted_model.wires.chat.response import response_body as response_body
from scripted_model.wires.chat.response import stream_error_events as stream_error_events
from scripted_model.wires.chat.response import stream_events as stream_events
from scripted_model.wires.chat.response import token_count as token_count
from scripted_model.wires.chat.validation import first_violation as first_violation
from scripted_model.wires.openai import invalid_request_error as invalid_request_error
from scripted_model.wires.openai import new_call_id as new_call_id
from scripted_model.wires.openai import scripted_error as scripted_error
from scripted_model.wires.openai import unknown_model_error as unknown_model_error
from scripted_model.wires.openai import wrong_key_error as wrong_key_error

name = "chat"
vendor = "openai"
