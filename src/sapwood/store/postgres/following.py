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

__all__ = ["Following"]

T = TypeVar("T")

_PAGE = 1_000
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


class Following:
    """Reads on as the log grows. Ends when the log is closed."""

    def __init__(
        self, readers: Readers, scanners: Readers, bell: Bell, poll: float, shift: int
    ) -> None:
        self._readers = readers
        self._scanners = scanners
        self._bell = bell
        self._poll = poll
        self._shift = shift

    async def follow(self, space: Space, agent: AgentId, after: int) -> AsyncIterator[Recorded]:
        """Every event of one agent after a version, then each new one."""
        fetch = self._readers.fetch
        with self._bell.waiting(key_of(space, agent)) as wake:
            while not self._bell.closed:
                wake.clear()
                page = await self._unless_closed(
                    read(fetch, space, agent, after + 1, None, _PAGE, backward=False)
                )
                for recorded in page:
                    yield recorded
                    after = recorded.version
                if len(page) < _PAGE:
                    await wake.wait(self._poll)

    async def tail(self, space: Space, after: Cursor) -> AsyncIterator[Tailed]:
        """Every event of a space after a cursor, then each new one."""
        pause = _FIRST_LOOK
        with self._bell.waiting(key_of(space)) as wake:
            while not self._bell.closed:
                wake.clear()
                page, complete = await self._page(space, after)
                for tailed in page:
                    yield tailed
                    after = tailed.cursor
                if len(page) == _PAGE:
                    continue
                # While others are under way the end may be hidden behind them, and not all of
                # them are ours to ring when they are done.
                pause = self._poll if complete else min(2 * pause, self._poll)
                if await wake.wait(pause):
                    pause = _FIRST_LOOK

    async def _page(self, space: Space, after: Cursor) -> tuple[list[Tailed], bool]:
        """The next events, and whether nobody was under way who could still hide some."""
        args = (space, after.transaction, after.position, self._shift, _PAGE)
        rows = await self._unless_closed(self._scanners.fetch(_TAIL, *args))
        found = [row for row in rows if row["tx"] is not None]
        events = await self._unless_closed(recorded_from(self._readers.fetch, space, found))
        cursors = (Cursor(row["tx"], row["position"]) for row in found)
        complete = bool(rows) and rows[0]["complete"]
        return [
            Tailed(cursor, event) for cursor, event in zip(cursors, events, strict=False)
        ], complete

    async def _unless_closed(self, reading: "Awaitable[list[T]]") -> "list[T]":
        """What is read, or nothing if the log was closed meanwhile."""
        try:
            return await reading
        except LogError:
            if self._bell.closed:
                return []
            raise
