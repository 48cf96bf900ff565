"""Bare commits, for comparison: what a turn stores, by the driver of the database and nothing else.

As many rows as a turn of ours commits, one after the other, each flushed before the next, as the
log does it. No events are encoded, no version is checked, no agent is woken or driven.
"""

import asyncio
import sqlite3
from collections.abc import AsyncGenerator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Protocol

import asyncpg

_TABLE = "CREATE TABLE IF NOT EXISTS steps (number INTEGER, text TEXT)"
_TEXT = "x" * 300
_SESSIONS = 10


class BareCommits(Protocol):
    """A database with one table."""

    async def commit(self, number: int) -> None:
        """Stores a row."""
        ...


class _Sqlite:
    """One connection in a thread: SQLite has one writer at a time."""

    def __init__(self, path: str) -> None:
        self._thread = ThreadPoolExecutor(1)
        self._connection = self._thread.submit(self._connect, path).result()

    @staticmethod
    def _connect(path: str) -> sqlite3.Connection:
        connection = sqlite3.connect(path, isolation_level=None)
        for statement in ("PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL", _TABLE):
            connection.execute(statement)
        return connection

    async def commit(self, number: int) -> None:
        statement = "INSERT INTO steps VALUES (?, ?)"
        run = asyncio.get_running_loop().run_in_executor
        await run(self._thread, self._connection.execute, statement, (number, _TEXT))

    def close(self) -> None:
        self._thread.submit(self._connection.close).result()
        self._thread.shutdown()


class _Postgres:
    """A pool of sessions."""

    def __init__(self, pool: "asyncpg.Pool[asyncpg.Record]") -> None:
        self._pool = pool

    async def commit(self, number: int) -> None:
        await self._pool.execute("INSERT INTO steps VALUES ($1, $2)", number, _TEXT)


@asynccontextmanager
async def bare_commits(address: str) -> AsyncGenerator[BareCommits]:
    """The table `steps` in the database of this address."""
    if "://" not in address:
        database = _Sqlite(address)
        try:
            yield database
        finally:
            database.close()
        return
    async with asyncpg.create_pool(address, min_size=1, max_size=_SESSIONS) as pool:
        await pool.execute(_TABLE)
        yield _Postgres(pool)
