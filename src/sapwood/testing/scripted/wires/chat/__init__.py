"""OpenAI's Chat Completions API: `POST /v1/chat/completions`. The module is a `Wire`."""

from sapwood.testing.scripted.wires.chat.reading import read, segments
from sapwood.testing.scripted.wires.chat.refusing import broken, too_long
from sapwood.testing.scripted.wires.chat.rules import first_violation
from sapwood.testing.scripted.wires.chat.writing import call_id, counted, events, whole
from sapwood.testing.scripted.wires.openai import failed, invalid, unauthorized, unknown_model

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

name = "chat"
vendor = "openai"
