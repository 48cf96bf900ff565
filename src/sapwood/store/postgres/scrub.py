"""Removes erased rows from the raw files of the server, where PostgreSQL keeps them for later use.

A deleted row stays in its table's file until VACUUM reuses its room, and in the write-ahead log
until that file is removed or written again. `VACUUM FULL` writes each table again.
"""

from typing import TYPE_CHECKING

import asyncpg

from sapwood.core.log_values import LogError

if TYPE_CHECKING:
    from sapwood.store.postgres.connections import Connection


_TABLES = """
    SELECT format('%I.%I', relnamespace::regnamespace, relname) AS name FROM pg_class
    WHERE relkind = 'r' AND relnamespace::regnamespace::text IN ('sapwood', 'sapwood_engine')
    ORDER BY relname
"""
_STATISTICS = "pg_catalog.pg_statistic"


async def scrub_tables(connection: "Connection") -> str:
    """Writes every table again, one after the other, and begins a new file of the WAL.

    Each table is locked while it is written. Returns what this login may not do; empty if nothing.
    Raises `LogError` if it does not own the tables.
    """
    for row in await connection.fetch(_TABLES):
        try:
            await connection.execute(f"VACUUM (FULL, ANALYZE) {row['name']}", timeout=3_600)
        except asyncpg.InsufficientPrivilegeError as error:
            raise LogError(
                "Only the owner of the tables can rewrite them. Nothing was removed from the "
                "files. Connect as the owner."
            ) from error
    left: list[str] = []
    for statement in (f"VACUUM FULL {_STATISTICS}", "SELECT pg_switch_wal()", "CHECKPOINT"):
        try:
            await connection.execute(statement, timeout=3_600)
        except asyncpg.PostgresError:
            left.append(statement)
    if not left:
        return ""
    return (
        f"A superuser has to run: {'; '.join(left)}. Until then, the files may still contain "
        "erased data."
    )
