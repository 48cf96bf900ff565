"""Waits for a condition, and fails with its value when time is up."""

import asyncio
import time
from collections.abc import Callable
from typing import TypeVar

_T = TypeVar("_T")


async def eventually(look: Callable[[], _T], within: float = 150.0) -> _T:
    """What `look` returns as soon as that is true; fails if it is not after so many seconds.

    Temporal gives out a task that was lost on the way to a worker only after `dead_after`, which
    is a minute in these tests. So the limit is longer than that.
    """
    deadline = time.monotonic() + within
    while not (found := look()):
        assert time.monotonic() < deadline, f"not within {within} s: {look()!r}"
        await asyncio.sleep(0.01)
    return found
