"""A few threads that only read, so that a slow read holds up neither the loop nor the writer."""

import asyncio
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import local
from typing import TypeVar

from sapwood.store.sqlite.connection import connect_to_read
from sapwood.store.sqlite.errors import closed, explained

__all__ = ["Readers"]

T = TypeVar("T")

_THREADS = 4


class Readers:
    """Threads with a connection each, opened when first needed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._pool = ThreadPoolExecutor(_THREADS, "sapwood-reader")
        self._mine = local()
        self._opened: list[sqlite3.Connection] = []
        self._closed = False

    async def do(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Runs the work on a connection that sees everything committed before."""
        if self._closed:
            raise closed()
        return await asyncio.get_running_loop().run_in_executor(self._pool, self._read, work)

    async def close(self) -> None:
        """Waits for reads under way, then lets go of the file."""
        self._closed = True
        await asyncio.to_thread(self._pool.shutdown)
        while self._opened:
            self._opened.pop().close()

    def _read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        with explained(self._path):
            connection: sqlite3.Connection | None = getattr(self._mine, "connection", None)
            if connection is None:
                connection = self._mine.connection = connect_to_read(self._path)
                self._opened.append(connection)
            return work(connection)
