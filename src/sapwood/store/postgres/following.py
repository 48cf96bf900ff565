"""Live reading: one agent by its versions, a whole space by the order of its commits.

Versions of one agent are committed in their order, so following it needs nothing but the last one
seen. Commits of a space end in another order than they began. Its tail shows only transactions
before the oldest that is still under way (`pg_snapshot_xmin`): none of those can grow any more, so
nothing can turn up behind the cursor.
"""

from collections.abc import AsyncIterator, Awaitable
from typing import TypeVar

from sapwood.core.events import Recorded
from sapwood.core.ids import AgentId, Space
from sapwood.core.log import Cursor, LogError, Tailed
from sapwood.store.postgres.bell import Bell, key_of
from sapwood.store.postgres.reading import COLUMNS, read, recorded_from
from sapwood.store.postgres.sessions import Readers

__all__ = ["follow", "tail"]

T = TypeVar("T")

_PAGE = 1_000
_LOOK = 5.0
_FIRST_LOOK = 0.01

_TAIL = f"""
    SELECT event.*, past.complete
    FROM (
        SELECT pg_snapshot_xmin(shot)::text::bigint + $4 AS limit,
               pg_snapshot_xmin(shot) = pg_snapshot_xmax(shot) AS complete
        FROM pg_current_snapshot() AS shot
    ) AS past
    LEFT JOIN LATERAL (
        SELECT {COLUMNS}, tx, position FROM sapwood.events
        WHERE space = $1 AND (tx, position) > ($2, $3) AND tx < past.limit::text::xid8
        ORDER BY tx, position LIMIT $5
    ) AS event ON true
"""


async def follow(
    readers: Readers, bell: Bell, space: Space, agent: AgentId, after: int
) -> AsyncIterator[Recorded]:
    """Every event of one agent after a version, then each new one."""
    with bell.waiting(key_of(space, agent)) as wake:
        while not bell.closed:
            wake.clear()
            page = await _unless_closed(
                bell, read(readers.fetch, space, agent, after + 1, None, _PAGE, backward=False)
            )
            for recorded in page:
                yield recorded
                after = recorded.version
            if len(page) < _PAGE:
                await wake.wait(_LOOK)


async def tail(
    readers: Readers, bell: Bell, space: Space, after: Cursor, shift: int
) -> AsyncIterator[Tailed]:
    """Every event of a space after a cursor, then each new one."""
    pause = _FIRST_LOOK
    with bell.waiting(key_of(space)) as wake:
        while not bell.closed:
            wake.clear()
            args = (space, after.transaction, after.position, shift, _PAGE)
            rows = await _unless_closed(bell, readers.fetch(_TAIL, *args))
            page = [row for row in rows if row["tx"] is not None]
            events = await _unless_closed(bell, recorded_from(readers.fetch, space, page))
            for row, recorded in zip(page, events, strict=False):
                after = Cursor(row["tx"], row["position"])
                yield Tailed(after, recorded)
            if len(page) == _PAGE:
                continue
            # While others are under way the end may be hidden behind them, and not all of them
            # are ours to ring when they are done.
            complete = bool(rows and rows[0]["complete"])
            pause = _LOOK if complete else min(2 * pause, _LOOK)
            pause = _FIRST_LOOK if await wake.wait(pause) else pause


async def _unless_closed(bell: Bell, reading: "Awaitable[list[T]]") -> "list[T]":
    """What is read, or nothing if the log was closed meanwhile."""
    try:
        return await reading
    except LogError:
        if bell.closed:
            return []
        raise
