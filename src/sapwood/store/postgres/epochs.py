"""Epochs: the order of events outlives the server that gave it.

Transaction numbers are counted by a server. A dump restored on another one would meet numbers
that start anew, and new events would sort before old ones. So the server is written down, and when
it has changed, all numbers from then on are shifted past the largest that is stored.
"""

from typing import TYPE_CHECKING

import asyncpg

if TYPE_CHECKING:
    from sapwood.store.postgres.sessions import Session

__all__ = ["shift_of"]

_LOCK = 0x5A9_E90C
_LAST = "SELECT number, server, shift FROM sapwood.epochs ORDER BY number DESC LIMIT 1"
_SERVER = "SELECT system_identifier::text FROM pg_control_system()"
_NOW = "SELECT pg_snapshot_xmax(pg_current_snapshot())"
_LARGEST = "SELECT tx FROM sapwood.events ORDER BY tx DESC LIMIT 1"
_BEGIN = "INSERT INTO sapwood.epochs (number, server, shift) VALUES ($1, $2, $3)"
_NUMBER = "((pg_current_xact_id()::text::bigint + {shift})::text::xid8)"
_SHIFT = f"""
    ALTER TABLE sapwood.events
        ALTER COLUMN tx SET DEFAULT {_NUMBER},
        DROP CONSTRAINT events_tx,
        ADD CONSTRAINT events_tx CHECK (tx = {_NUMBER}) NOT VALID
"""


async def shift_of(session: "Session") -> int:
    """What to add to the server's transaction numbers; begins a new epoch if the server is new."""
    server = await _server(session)
    last = await session.fetchrow(_LAST)
    if last and server in (None, last["server"]):
        return last["shift"]
    async with session.transaction():
        await session.execute("SELECT pg_advisory_xact_lock($1)", _LOCK)
        last = await session.fetchrow(_LAST)
        if last and server == last["server"]:
            return last["shift"]
        return await _begin(session, last, server or "unknown")


async def _begin(session: "Session", last: "asyncpg.Record | None", server: str) -> int:
    number, shift = (last["number"], last["shift"]) if last else (0, 0)
    largest = await session.fetchval(_LARGEST) or 0
    if largest >= await session.fetchval(_NOW) + shift:
        shift = largest
        await session.execute(_SHIFT.format(shift=shift))
    await session.execute(_BEGIN, number + 1, server, shift)
    return shift


async def _server(session: "Session") -> str | None:
    try:
        return await session.fetchval(_SERVER)
    except asyncpg.InsufficientPrivilegeError:
        return None
