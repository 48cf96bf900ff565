"""A PostgreSQL database for one benchmark, dropped after it."""

import asyncio
import os
from collections.abc import Generator
from contextlib import contextmanager
from urllib.parse import urlsplit

import asyncpg

from tools.postgres import dsn_or_throwaway

__all__ = ["own_database"]


@contextmanager
def own_database() -> Generator[str]:
    """The address of an empty database on the named server, or on a throw-away one."""
    name = f"sapwood_bench_{os.getpid()}"
    with dsn_or_throwaway() as dsn:
        asyncio.run(_execute(dsn, f"CREATE DATABASE {name}"))
        try:
            yield urlsplit(dsn)._replace(path=f"/{name}").geturl()
        finally:
            asyncio.run(_execute(dsn, f"DROP DATABASE {name} WITH (FORCE)"))


async def _execute(dsn: str, statement: str) -> None:
    session = await asyncpg.connect(dsn)
    try:
        await session.execute(statement)
    finally:
        await session.close()
