"""SQL for tests that are not asynchronous, or that stop everything else meanwhile."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import asyncpg

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
