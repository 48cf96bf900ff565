"""Backs up and migrates a database: the tables of the log, and those of the engine."""

import asyncio
from importlib import resources
from importlib.util import find_spec
from pathlib import Path

from sapwood.store.stores import store_of


def grants() -> str:
    """SQL that creates roles with few rights, and grants them what they need."""
    return (resources.files("sapwood.store.postgres") / "worker.sql").read_text(encoding="utf-8")


async def back_up(address: str, target: Path) -> int:
    """Writes the database at this address into a new file, while others use it.

    Returns the size of the file in bytes. An SQLite database becomes an SQLite file, which can be
    opened as it is; one of PostgreSQL a file for `pg_restore`. Raises `LogError`.
    """
    return await store_of(address).back_up(address, target)


async def migration_state(address: str) -> tuple[int, int]:
    """The schema of the database, 0 if it is empty, and the one of this version of Sapwood.

    Changes nothing. Raises `LogError` if the database cannot be reached.
    """
    return await store_of(address).schema(address)


async def migrate_database(address: str) -> None:
    """Migrates the log, and on a server the tables of the engine. Raises `LogError`."""
    store = store_of(address)
    await store.migrate(address)
    if not store.on_server:
        return
    from sapwood.engine.wake_database import open_wake_database

    await (await open_wake_database(address)).close()
    if find_spec("dbos") is not None:
        from sapwood.engine.dbos.system_database import open_system_database

        system = await asyncio.to_thread(open_system_database, address)
        system.sql.dispose()
