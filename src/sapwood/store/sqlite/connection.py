"""Connections to the file, each with the same manners."""

import contextlib
import os
import sqlite3
from pathlib import Path

__all__ = ["BUSY_SECONDS", "connect", "connect_to_read", "make_private"]

BUSY_SECONDS = 10.0
"""How long to wait for another process that writes; its commits take milliseconds."""


def connect(path: Path, busy_seconds: float = BUSY_SECONDS) -> sqlite3.Connection:
    """A connection without transactions of its own accord, for any thread, but one at a time."""
    connection = sqlite3.connect(
        path, timeout=busy_seconds, isolation_level=None, check_same_thread=False
    )
    # In WAL the level NORMAL would keep the file whole, but lose commits when power fails.
    connection.execute("PRAGMA synchronous = FULL")
    return connection


def connect_to_read(path: Path, busy_seconds: float = BUSY_SECONDS) -> sqlite3.Connection:
    """A connection that cannot write."""
    connection = connect(path, busy_seconds)
    connection.execute("PRAGMA query_only = ON")
    return connection


def make_private(path: Path) -> None:
    """Makes the file, for its owner's eyes only, if there is none: it will hold conversations."""
    # Only a new file may be touched: closing any handle on an open one would drop its locks.
    with contextlib.suppress(OSError):  # SQLite will say what is wrong
        os.close(os.open(path, os.O_CREAT | os.O_EXCL, 0o600))
