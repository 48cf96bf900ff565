"""Keeps the order of events when a database moves to another server.

Events are ordered by transaction number, and each server counts its own transactions. On a new
server, a restored database would give new events lower numbers than old ones. So the table
`epochs` records the server. When it has changed, a new epoch begins: from then on, a shift is
added to every number, so that all are above the largest stored one.
"""

from typing import TYPE_CHECKING

import asyncpg

if TYPE_CHECKING:
    from sapwood.store.postgres.connections import Connection


_LOCK = 0x5A9_E90C
_LAST = "SELECT number, server, shift FROM sapwood.epochs ORDER BY number DESC LIMIT 1"
_SERVER = "SELECT system_identifier::text FROM pg_control_system()"
_NOW = "SELECT pg_snapshot_xmax(pg_current_snapshot())"
_LARGEST = """
    SELECT tx FROM (
        (SELECT tx FROM sapwood.events ORDER BY tx DESC LIMIT 1)
        UNION ALL (SELECT tx FROM sapwood.gaps ORDER BY tx DESC LIMIT 1)
    ) AS place ORDER BY tx DESC LIMIT 1
"""
_BEGIN = "INSERT INTO sapwood.epochs (number, server, shift) VALUES ($1, $2, $3)"
_NUMBER = "((pg_current_xact_id()::text::bigint + {shift})::text::xid8)"
_SHIFT = f"""
    ALTER TABLE sapwood.events
        ALTER COLUMN tx SET DEFAULT {_NUMBER},
        DROP CONSTRAINT events_tx,
        ADD CONSTRAINT events_tx CHECK (
            CASE WHEN coalesce(current_setting('sapwood.erasure', true), '') <> '' THEN true
            ELSE tx = {_NUMBER} END
        ) NOT VALID
"""


async def shift_of(connection: "Connection") -> int:
    """The shift to add to the server's transaction numbers.

    Begins a new epoch if the database is on another server than before.
    """
    server = await _server(connection)
    last = await connection.fetchrow(_LAST)
    if last and server in (None, last["server"]):
        return last["shift"]
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock($1)", _LOCK)
        last = await connection.fetchrow(_LAST)
        if last and server == last["server"]:
            return last["shift"]
        return await _begin(connection, last, server or "unknown")


async def _begin(connection: "Connection", last: "asyncpg.Record | None", server: str) -> int:
    number, shift = (last["number"], last["shift"]) if last else (0, 0)
    largest = await connection.fetchval(_LARGEST) or 0
    if largest >= await connection.fetchval(_NOW) + shift:
        shift = largest
        await connection.execute(_SHIFT.format(shift=shift))
    await connection.execute(_BEGIN, number + 1, server, shift)
    return shift


async def _server(connection: "Connection") -> str | None:
    try:
        return await connection.fetchval(_SERVER)
    except asyncpg.InsufficientPrivilegeError:
        return None
