"""What event streams share: their messages, the reader of the log behind them, and its lag."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable

import msgspec

from sapwood.core import events
from sapwood.core.errors import SpaceMoved
from sapwood.core.log_values import LogUnavailable
from sapwood.metrics import METRICS

PAGE = 200
"""The most events that are read at once for a follower who is behind."""
BEAT = 15.0
"""Seconds of silence after which a follower gets a comment."""
AGAIN = 0.5
"""Seconds until a reader that failed reads again."""

_log = logging.getLogger("sapwood.server")
_encode = msgspec.json.Encoder(enc_hook=str).encode


def sse_message(kind: str, value: object, place: int | str | None = None) -> bytes:
    """A message of an event stream. JSON has no line breaks, so one line holds all data."""
    head = b"" if place is None else f"id: {place}\n".encode()
    return head + b"event: " + kind.encode() + b"\ndata: " + _encode(value) + b"\n\n"


async def read_until_it_fails(read: Callable[[], Awaitable[None]], what: str) -> None:
    """Reads again and again while the database is away. Returns if this cannot go on here.

    Another cell has the space then, or something failed, which is logged. Followers that connect
    again after a failure come to a new reader, but not at once.
    """
    while True:
        try:
            await read()
        except LogUnavailable:
            await asyncio.sleep(AGAIN)
        except SpaceMoved:
            return
        except Exception:
            _log.exception("%s cannot be followed.", what)
            await asyncio.sleep(AGAIN)
            return


def measure_lag(recorded: events.Recorded, began: float) -> None:
    """Measures how late an event is here, unless it is older than the reader."""
    at = recorded.at / 1_000_000
    if at >= began:
        METRICS.observe("sapwood_follower_lag_seconds", max(0.0, time.time() - at))
