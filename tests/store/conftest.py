"""Fixtures: an open log of every kind, an unused space, and a way to open the database again."""

import asyncio
import itertools
import os
from collections.abc import AsyncGenerator, Generator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from sapwood.core.ids import Space
from sapwood.turns.log import Log
from tests.store.backends import MemoryBackend, PostgresBackend, SqliteBackend
from tests.store.contract import Backend, OpenLog

_numbers = itertools.count(1)


async def _on_server(dsn: str, statement: str) -> None:
    import asyncpg

    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


@contextmanager
def _new_database(server: str) -> Generator[str]:
    name = f"sapwood_test_{os.getpid()}_{next(_numbers)}"
    asyncio.run(_on_server(server, f"CREATE DATABASE {name}"))
    yield urlsplit(server)._replace(path=f"/{name}").geturl()
    asyncio.run(_on_server(server, f"DROP DATABASE {name} WITH (FORCE)"))


@pytest.fixture(scope="module")
def postgres_database(postgres_dsn: str) -> Generator[str]:
    """A database for the tests of one module; it is dropped afterwards."""
    with _new_database(postgres_dsn) as address:
        yield address


@pytest.fixture(scope="module")
def encrypted_database(postgres_dsn: str) -> Generator[str]:
    """Another database for the tests of one module."""
    with _new_database(postgres_dsn) as address:
        yield address


@pytest.fixture(scope="module")
def pooled_database(postgres_dsn: str) -> Generator[str]:
    """Another one, through PgBouncer, whose few connections all programs share."""
    from tools.pgbouncer import pooler

    with _new_database(postgres_dsn) as address, pooler(address, size=3) as pooled:
        yield pooled


def _backend(kind: str, request: pytest.FixtureRequest, folder: Path) -> Backend:
    match kind:
        case "memory":
            return MemoryBackend()
        case "sqlite" | "sqlite-encrypted":
            return SqliteBackend(folder / "log.db", kind)
        case "postgres":
            return PostgresBackend(request.getfixturevalue("postgres_database"))
        case "postgres-pooled":
            return PostgresBackend(request.getfixturevalue("pooled_database"), kind)
        case _:
            return PostgresBackend(request.getfixturevalue("encrypted_database"), kind)


@pytest.fixture(
    params=[
        pytest.param("memory", marks=pytest.mark.night),  # the model of the tests, not a store
        "sqlite",
        "postgres",
        "sqlite-encrypted",
        pytest.param("postgres-encrypted", marks=pytest.mark.night),
        pytest.param("postgres-pooled", marks=pytest.mark.night),
    ]
)
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Backend:
    """Each kind of database."""
    return _backend(request.param, request, tmp_path)


@pytest.fixture
def space() -> Space:
    """A space that no other test has."""
    return Space(f"space-{os.getpid()}-{next(_numbers)}")


@pytest.fixture
async def open_log(backend: Backend) -> AsyncGenerator[OpenLog]:
    """Opens the database of the test again at each call; all are closed afterwards."""
    opened: list[Log] = []

    async def open_once_more() -> Log:
        log = await backend.open()
        opened.append(log)
        return log

    yield open_once_more
    for log in opened:
        await log.close()


@pytest.fixture
async def log(open_log: OpenLog) -> Log:
    """An open log in the database of the test."""
    return await open_log()
