"""The end of a transcript, read in a time that does not grow with its length."""

import json
import os
import time
from pathlib import Path

from sapwood.core.session import Session
from sapwood.sources import tail_session

__all__ = ["TAIL", "await_last", "read_tail"]

TAIL = 384_000
"""Bytes of a transcript that a hook reads: some hundred messages."""

_PATIENCE, _STEP = 0.25, 0.025
_GLANCE = 64_000


def read_tail(transcript: str, size: int = TAIL) -> Session:
    """The session as the last part of its transcript tells it."""
    return tail_session(Path(transcript), size)


def await_last(transcript: str, said: str = "") -> None:
    """Waits a moment for what the program has not written yet.

    With the last message given, until that is there; else until nothing more comes.
    """
    until = time.monotonic() + _PATIENCE
    wanted = _as_written(said)
    size = -1
    while time.monotonic() < until:
        now = _size(transcript)
        if wanted and _ends_with(transcript, now, wanted):
            return
        if not wanted and now == size:
            return
        size = now
        time.sleep(_STEP if wanted else 2 * _STEP)


def _as_written(said: str) -> bytes:
    """The end of a message as it stands in a line of JSON."""
    return json.dumps(said[-60:], ensure_ascii=False)[1:-1].encode("utf-8", "replace")


def _ends_with(transcript: str, size: int, wanted: bytes) -> bool:
    try:
        with open(transcript, "rb") as file:
            file.seek(max(0, size - _GLANCE))
            return wanted in file.read(_GLANCE)
    except OSError:
        return False


def _size(transcript: str) -> int:
    try:
        return os.stat(transcript).st_size
    except OSError:
        return -1
