"""Moments as people say them. They come in microseconds since 1970 (UTC)."""

import time
from datetime import datetime

__all__ = ["ago", "clock", "now"]

_SECOND = 1_000_000
_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"))


def ago(at: int, now: int) -> str:
    """How long ago something was.

    >>> [ago(0, seconds * 1_000_000) for seconds in (3, 200, 7_300, 200_000)]
    ['just now', '3 min ago', '2 h ago', '2 d ago']
    """
    seconds = max(0, now - at) // _SECOND
    for size, unit in _UNITS:
        if seconds >= size:
            return f"{seconds // size} {unit} ago"
    return "just now"


def now() -> int:
    """The present moment."""
    return time.time_ns() // 1000


def clock(at: int) -> str:
    """The moment in the time zone of whoever reads it."""
    return f"{datetime.fromtimestamp(at / _SECOND).astimezone():%Y-%m-%d %H:%M:%S}"
