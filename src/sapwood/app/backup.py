"""Backs a database up into a file."""

import asyncio
from pathlib import Path

from sapwood.config.database_address import is_postgres


async def back_up(address: str, target: Path) -> int:
    """Writes the database at this address into a new file, while others use it.

    Returns the size of the file in bytes. An SQLite database becomes an SQLite file, which can be
    opened as it is; one of PostgreSQL a file for `pg_restore`. Raises `LogError`.
    """
    if is_postgres(address):
        from sapwood.store.postgres.backup import back_up as dump

        return await asyncio.to_thread(dump, address, target)
    from sapwood.store.sqlite.backup import back_up as copy

    return await asyncio.to_thread(copy, Path(address), target)
