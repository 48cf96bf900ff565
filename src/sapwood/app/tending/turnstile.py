"""Lets one process work and one wait; a third is sent away, because the second will do its work."""

import fcntl
import os
from collections.abc import Generator
from contextlib import contextmanager

__all__ = ["one_at_a_time"]


@contextmanager
def one_at_a_time(folder: str, work: str) -> Generator[bool]:
    """Whether the caller may go on with this work; if so, nobody else does meanwhile."""
    os.makedirs(folder, mode=0o700, exist_ok=True)
    waiting = os.open(os.path.join(folder, f"{work}-waiting.lock"), os.O_CREAT | os.O_RDWR, 0o600)
    working = os.open(os.path.join(folder, f"{work}.lock"), os.O_CREAT | os.O_RDWR, 0o600)
    try:
        first = _is_first(waiting)
        if first:
            fcntl.flock(working, fcntl.LOCK_EX)
            fcntl.flock(waiting, fcntl.LOCK_UN)
        yield first
    finally:
        os.close(working)
        os.close(waiting)


def _is_first(waiting: int) -> bool:
    try:
        fcntl.flock(waiting, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
