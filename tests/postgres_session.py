"""SQL for tests that are not asynchronous, or that stop everything else meanwhile."""

import asyncio
import itertools
import os
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import asyncpg

_numbers = itertools.count(1)

CUT = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()
"""
"""Ends every other session of the database."""


def execute(dsn: str, statement: str) -> Sequence[Sequence[Any]]:
    """Returns the rows of a statement. Blocks, whether an event loop runs or not."""

    async def fetched() -> Sequence[Sequence[Any]]:
        session = await asyncpg.connect(dsn)
        try:
            return [tuple(row) for row in await session.fetch(statement)]
        finally:
            await session.close()

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, fetched()).result()


@contextmanager
def new_database(server: str, template: str = "template1") -> Generator[str]:
    """The address of a new database with what the template has; it is dropped afterwards."""
    name = f"sapwood_test_{os.getpid()}_{next(_numbers)}"
    execute(server, f"CREATE DATABASE {name} TEMPLATE {template}")
    try:
        yield urlsplit(server)._replace(path=f"/{name}").geturl()
    finally:
        execute(server, f"DROP DATABASE {name} WITH (FORCE)")
