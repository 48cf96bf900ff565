"""The kinds of database that the contract suite runs on. Two of them encrypt every space."""

import sqlite3
from contextlib import closing
from pathlib import Path

from sapwood.config.database_address import split_pooler
from sapwood.store.master_keys import MasterKeys
from sapwood.store.sqlite import SqliteLog
from sapwood.turns.log import Log
from tests.store.memory_log import MemoryLog

TEST_KEY = bytes(range(32))
"""The master key of the encrypted databases of tests."""


async def open_at(name: str, address: str) -> Log:
    """Opens the log of the kind `name` at an address; other processes may have it open too."""
    kind, _, how = name.partition("-")
    masters = MasterKeys([TEST_KEY], "*") if how == "encrypted" else None
    if kind == "sqlite":
        return await SqliteLog.open(Path(address), masters=masters)
    # Here, because the driver is an extra and the other backends must run without it.
    from sapwood.store.postgres import PostgresLog

    return await PostgresLog.open(address, masters=masters)


class MemoryBackend:
    """One log in memory. Opening it again returns the same log."""

    name = "memory"
    address = ""

    def __init__(self) -> None:
        self._log = MemoryLog()

    async def open(self) -> Log:
        return self._log

    async def size(self) -> int:
        raise NotImplementedError

    async def execute(self, statement: str) -> None:
        raise NotImplementedError


class SqliteBackend:
    """An SQLite file."""

    def __init__(self, path: Path, name: str = "sqlite") -> None:
        self.name = name
        self.address = str(path)

    async def open(self) -> Log:
        return await open_at(self.name, self.address)

    async def size(self) -> int:
        with closing(sqlite3.connect(self.address)) as connection:
            (pages,) = connection.execute("PRAGMA page_count").fetchone()
            (page,) = connection.execute("PRAGMA page_size").fetchone()
        return pages * page

    async def execute(self, statement: str) -> None:
        with closing(sqlite3.connect(self.address)) as connection, connection:
            connection.execute(statement)


class PostgresBackend:
    """A separate database on a real server."""

    def __init__(self, dsn: str, name: str = "postgres") -> None:
        self.name = name
        self.address = dsn

    async def open(self) -> Log:
        return await open_at(self.name, self.address)

    async def size(self) -> int:
        import asyncpg

        connection = await asyncpg.connect(split_pooler(self.address).sessions)
        try:
            return await connection.fetchval("SELECT pg_database_size(current_database())")
        finally:
            await connection.close()

    async def execute(self, statement: str) -> None:
        import asyncpg

        connection = await asyncpg.connect(split_pooler(self.address).sessions)
        try:
            await connection.execute(statement)
        finally:
            await connection.close()
