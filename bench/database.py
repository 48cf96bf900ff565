"""A PostgreSQL database for one measurement; it is dropped afterwards."""

import asyncio
import itertools
import os
from collections.abc import Generator
from contextlib import contextmanager
from urllib.parse import urlsplit

import asyncpg

_numbers = itertools.count(1)


@contextmanager
def own_database(server: str) -> Generator[str]:
    """The address of a new empty database on this server."""
    name = f"sapwood_bench_{os.getpid()}_{next(_numbers)}"
    asyncio.run(_execute(server, f"CREATE DATABASE {name}"))
    try:
        yield urlsplit(server)._replace(path=f"/{name}").geturl()
    finally:
        asyncio.run(_execute(server, f"DROP DATABASE {name} WITH (FORCE)"))


async def _execute(dsn: str, statement: str) -> None:
    session = await asyncpg.connect(dsn)
    try:
        await session.execute(statement)
    finally:
        await session.close()
