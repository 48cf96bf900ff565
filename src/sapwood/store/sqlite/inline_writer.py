"""Writes a single commit on the event loop, without the writer's thread, where the disk is fast.

Passing a commit to the thread and back costs as much as a flush on many machines. Where a flush
usually takes longer than a callback may, commits go to the thread.
"""

import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from sapwood.store.master_keys import StoredKeys
from sapwood.store.sqlite.connections import connect

T = TypeVar("T")

_FAST_SECONDS = 0.001
"""How long a transaction may block the event loop; drawing one screen takes longer."""

_LATEST_WEIGHT = 0.25
"""The weight of the latest transaction in the moving average."""


class WriteLockBusy(Exception):
    """Another connection is writing. Give the work to the writer's thread, which can wait."""


class InlineWriter:
    """A connection for the event loop. It never waits for a lock."""

    def __init__(self, path: Path, keys: StoredKeys | None = None) -> None:
        self._path = path
        self._keys = keys
        self._connection: sqlite3.Connection | None = None
        self._average_seconds = 2 * _FAST_SECONDS

    @property
    def is_fast(self) -> bool:
        """Whether recent transactions were fast enough to run on the event loop."""
        return self._average_seconds < _FAST_SECONDS

    def record_duration(self, seconds: float) -> None:
        """Adds the duration of a transaction, written here or by the thread, to the average."""
        self._average_seconds += (seconds - self._average_seconds) * _LATEST_WEIGHT

    def run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Runs the work in a durable transaction and returns its result.

        Raises `WriteLockBusy`, before anything was done, while another connection is writing.
        """
        started = time.monotonic()
        connection = self._begin()
        try:
            result = work(connection)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        self.record_duration(time.monotonic() - started)
        return result

    def close(self) -> None:
        """Closes the file."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _begin(self) -> sqlite3.Connection:
        if self._connection is None:
            self._connection = connect(self._path, busy_seconds=0, keys=self._keys)
        try:
            self._connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY:
                raise WriteLockBusy from error
            raise
        return self._connection
