"""Fixtures: an open log of every kind, an unused space, and a way to open the database again."""

import itertools
import os
from collections.abc import AsyncGenerator, Generator
from pathlib import Path

import pytest

from sapwood.core.ids import Space
from sapwood.turns.log import Log
from tests.postgres_session import new_database
from tests.store.backends import MemoryBackend, PostgresBackend, SqliteBackend
from tests.store.contract import Backend, OpenLog

_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def postgres_database(postgres_dsn: str, postgres_template: str) -> Generator[str]:
    """A database for the tests of one module; it is dropped afterwards."""
    with new_database(postgres_dsn, postgres_template) as address:
        yield address


@pytest.fixture(scope="module")
def encrypted_database(postgres_dsn: str) -> Generator[str]:
    """Another database for the tests of one module."""
    with new_database(postgres_dsn) as address:
        yield address


@pytest.fixture(scope="session")
def pgbouncer() -> None:
    """Skips tests that need PgBouncer where there is none that is new enough."""
    from tools.pgbouncer import PoolerUnavailable, find_program

    try:
        find_program()
    except PoolerUnavailable as problem:
        pytest.skip(str(problem))


@pytest.fixture(scope="module")
def pooled_database(postgres_dsn: str, pgbouncer: None) -> Generator[str]:
    """Another one, through PgBouncer, whose few connections all programs share."""
    from tools.pgbouncer import pooler

    with new_database(postgres_dsn) as address, pooler(address, size=3) as pooled:
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
