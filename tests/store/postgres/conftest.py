"""The fixtures of the contract suite, for PostgreSQL only, and a connection without the log."""

from collections.abc import AsyncGenerator

import asyncpg
import pytest

from tests.store.backends import PostgresBackend


@pytest.fixture
def backend(postgres_database: str) -> PostgresBackend:
    """The database of this module."""
    return PostgresBackend(postgres_database)


@pytest.fixture
async def owner(
    postgres_database: str,
) -> "AsyncGenerator[asyncpg.Connection[asyncpg.Record]]":
    """A connection as the owner of the database."""
    session: asyncpg.Connection[asyncpg.Record] = await asyncpg.connect(postgres_database)
    yield session
    await session.close()
