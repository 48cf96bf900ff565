"""OpenAI's Responses API: `POST /v1/responses`. The module is a `Wire`."""

from sapwood.testing.scripted.wires.openai import failed, invalid, unauthorized, unknown_model
from sapwood.testing.scripted.wires.responses.reading import read, segments
from sapwood.testing.scripted.wires.responses.refusing import broken, too_long
from sapwood.testing.scripted.wires.responses.rules import first_violation
from sapwood.testing.scripted.wires.responses.writing import call_id, counted, events, whole

__all__ = [
    "broken",
    "call_id",
    "counted",
    "events",
    "failed",
    "first_violation",
    "invalid",
    "name",
    "read",
    "segments",
    "too_long",
    "unauthorized",
    "unknown_model",
    "vendor",
    "whole",
]

name = "responses"
vendor = "openai"
