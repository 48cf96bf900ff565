"""Where a space is: statements about the table of moves, and waiting while a space is stopped."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from msgspec import Struct

from sapwood.core.errors import SpaceMoved, SpaceStopped
from sapwood.core.ids import Space
from sapwood.store.postgres.connections import Reader

T = TypeVar("T")

MOVER_LOCK = "SELECT pg_try_advisory_lock(hashtextextended('move ' || $1, 8))"
"""A mover holds this lock in both databases while it lives."""
MOVER_LIVES = """
    EXISTS (
        SELECT FROM pg_locks
        WHERE locktype = 'advisory' AND objsubid = 1 AND granted
            AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
            AND (classid::bigint << 32 | objid::bigint)
                = hashtextextended('move ' || moves.space, 8)
    )
"""
_PLACE = """
    SELECT state, cell, state = 'stopped' AND until <= clock_timestamp() AS resumed
    FROM sapwood.moves WHERE space = $1 AND state <> 'leaving'
"""
_INTERRUPTED = f"SELECT NOT {MOVER_LIVES} AS dead FROM sapwood.moves WHERE space = $1"
_UNFINISHED = f"""
    SELECT space, state, cell, {MOVER_LIVES} AS running FROM sapwood.moves
    WHERE state <> 'moved'
        OR EXISTS (SELECT FROM sapwood.agents WHERE agents.space = moves.space)
    ORDER BY space LIMIT $1
"""
_SERVED = """
    WITH RECURSIVE found (space) AS (
        SELECT min(space) FROM sapwood.agents
        UNION ALL
        SELECT (SELECT min(space) FROM sapwood.agents WHERE space > found.space)
        FROM found WHERE found.space IS NOT NULL
    ) SELECT space FROM found WHERE space IS NOT NULL AND NOT EXISTS (
        SELECT FROM sapwood.moves
        WHERE moves.space = found.space AND state IN ('moved', 'arriving')
    ) LIMIT $1
"""
_PAUSE = 0.02


class UnfinishedMove(Struct, frozen=True):
    """A move that has not ended: its state here, and whether a process continues it."""

    space: Space
    state: str
    cell: str
    running: bool


async def unfinished_moves(readers: Reader, limit: int) -> list[UnfinishedMove]:
    """The moves of which something is left to do, ordered by space."""
    rows = await readers.fetch(_UNFINISHED, limit)
    return [UnfinishedMove(Space(r["space"]), r["state"], r["cell"], r["running"]) for r in rows]


async def served_spaces(readers: Reader, limit: int) -> list[Space]:
    """The spaces that are served here by what this database knows, in order."""
    return [Space(row["space"]) for row in await readers.fetch(_SERVED, limit)]


async def require_here(readers: Reader, space: Space) -> None:
    """Raises `SpaceMoved` if another database has the space, `SpaceStopped` if none serves it."""
    row = await readers.fetchrow(_PLACE, space)
    if row is None or row["resumed"]:
        return
    if row["state"] == "moved":
        raise SpaceMoved(space, row["cell"])
    if row["state"] == "arriving":
        dead = await is_interrupted(readers, space)
        raise SpaceStopped(space, interrupted=dead, arriving=True)
    raise SpaceStopped(space)


async def _refuse_arriving(readers: Reader, space: Space) -> None:
    try:
        await require_here(readers, space)
    except SpaceStopped as stopped:
        if stopped.arriving:
            raise


async def is_interrupted(readers: Reader, space: Space) -> bool:
    """Whether a move of this space has begun, and no process continues it."""
    row = await readers.fetchrow(_INTERRUPTED, space)
    return row is not None and row["dead"]


async def when_here(
    readers: Reader, space: Space, action: Callable[[], Awaitable[T]], seconds: float
) -> T:
    """The result of an action, which is repeated while its space is stopped.

    Raises `SpaceStopped` after `seconds`, and at once if the space is arriving here: another
    database decides whether it ever does.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + seconds
    while True:
        try:
            return await action()
        except SpaceStopped as stopped:
            if stopped.arriving or loop.time() + _PAUSE > deadline:
                raise
            await _refuse_arriving(readers, space)
        await asyncio.sleep(_PAUSE)
