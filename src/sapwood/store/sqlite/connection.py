"""Connections to the file, each with the same manners."""

import sqlite3
from pathlib import Path

__all__ = ["BUSY_SECONDS", "connect", "connect_to_read"]

BUSY_SECONDS = 10.0
"""How long to wait for another process that writes; its commits take milliseconds."""


def connect(path: Path) -> sqlite3.Connection:
    """A connection that says itself when a transaction begins; any thread may use it, one a time."""
    connection = sqlite3.connect(
        path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )
    try:
        # In WAL the level NORMAL would keep the file whole, but lose commits when power fails.
        connection.execute("PRAGMA synchronous = FULL")
    except BaseException:
        connection.close()
        raise
    return connection


def connect_to_read(path: Path) -> sqlite3.Connection:
    """A connection that cannot write."""
    connection = connect(path)
    connection.execute("PRAGMA query_only = ON")
    return connection
