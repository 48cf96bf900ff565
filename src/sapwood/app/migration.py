"""Migrates the tables of a database: those of the log, and those of the durable engine."""

import asyncio
from importlib import resources
from importlib.util import find_spec
from pathlib import Path

from sapwood.config.database_address import is_postgres


def grants() -> str:
    """SQL that creates roles with few rights, and grants them what they need."""
    return (resources.files("sapwood.store.postgres") / "worker.sql").read_text(encoding="utf-8")


async def migration_state(address: str) -> tuple[int, int]:
    """The schema of the database, 0 if it is empty, and the one of this version of Sapwood.

    Changes nothing. Raises `LogError` if the database cannot be reached.
    """
    if is_postgres(address):
        from sapwood.store.postgres.schema import NEWEST, read_schema_number

        return await read_schema_number(address), NEWEST
    from sapwood.store.sqlite.schema import NEWEST as NEWEST_FILE
    from sapwood.store.sqlite.schema import read_schema_number as read_file_number

    return await asyncio.to_thread(read_file_number, Path(address)), NEWEST_FILE


async def migrate_database(address: str) -> None:
    """Migrates the log, and in PostgreSQL the tables of the engine. Raises `LogError`."""
    if not is_postgres(address):
        from sapwood.store.sqlite import SqliteLog

        await (await SqliteLog.open(address)).close()
        return
    from sapwood.engine.wake_database import open_wake_database
    from sapwood.store.postgres import PostgresLog

    await (await PostgresLog.open(address, migrate=True)).close()
    await (await open_wake_database(address)).close()
    if find_spec("dbos") is not None:
        from sapwood.engine.dbos.system_database import open_system_database

        system = await asyncio.to_thread(open_system_database, address)
        system.sql.dispose()
