"""Anthropic's Messages API: `POST /v1/messages`. The module is a `Wire`."""

from sapwood.testing.scripted.wires.anthropic.reading import read, segments
from sapwood.testing.scripted.wires.anthropic.refusing import (
    broken,
    failed,
    invalid,
    too_long,
    unauthorized,
    unknown_model,
)
from sapwood.testing.scripted.wires.anthropic.rules import first_violation
from sapwood.testing.scripted.wires.anthropic.writing import call_id, counted, events, whole

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

name = "anthropic"
vendor = "anthropic"
