"""A commit that waits for nobody else, written on the event loop itself where disks are quick.

Handing a lone commit to the writer's thread and back costs as much as a flush on many machines.
Where flushes usually take longer than a callback may, commits go to the thread.
"""

import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from sapwood.store.sqlite.connection import connect

__all__ = ["AtOnce", "BusyElsewhere"]

T = TypeVar("T")

_QUICK_SECONDS = 0.001
"""A loop may stand still for so long; drawing one screen takes more."""

_LATEST = 0.25
"""The weight of the latest transaction in what is usual."""


class BusyElsewhere(Exception):
    """Somebody else is writing: whoever cannot wait must ask the writer's thread."""


class AtOnce:
    """A connection of the event loop's own that never waits for another's lock."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection: sqlite3.Connection | None = None
        self._usual_seconds = 2 * _QUICK_SECONDS

    @property
    def is_quick(self) -> bool:
        """Whether transactions have been quick lately."""
        return self._usual_seconds < _QUICK_SECONDS

    def took(self, seconds: float) -> None:
        """A transaction took so long, here or in the writer's thread."""
        self._usual_seconds += (seconds - self._usual_seconds) * _LATEST

    def do(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Runs the work in a durable transaction. Raises `BusyElsewhere` before it began."""
        started = time.monotonic()
        connection = self._begun()
        try:
            result = work(connection)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        self.took(time.monotonic() - started)
        return result

    def close(self) -> None:
        """Lets go of the file."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _begun(self) -> sqlite3.Connection:
        if self._connection is None:
            self._connection = connect(self._path, busy_seconds=0)
        try:
            self._connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY:
                raise BusyElsewhere from error
            raise
        return self._connection
