"""Google's Gemini API: `POST /v1beta/models/MODEL:generateContent`. The module is a `Wire`."""

from sapwood.testing.scripted.wires.gemini.reading import read, segments
from sapwood.testing.scripted.wires.gemini.refusing import (
    broken,
    failed,
    invalid,
    too_long,
    unauthorized,
    unknown_model,
)
from sapwood.testing.scripted.wires.gemini.rules import first_violation
from sapwood.testing.scripted.wires.gemini.writing import call_id, counted, events, whole

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

name = "gemini"
vendor = "google"
