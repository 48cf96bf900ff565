"""Finds the place of a cursor, which is a number of events of its space, and the other way round.

Events are counted in the order of the tail, once. A place is stored for each thousand of them, so a
cursor is found from the place before it, however many events the space has.
"""

import asyncio
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from typing import NamedTuple

import asyncpg

from sapwood.core.ids import Space
from sapwood.core.log_values import Cursor, LogError, unknown_cursor
from sapwood.store.postgres.connections import ReaderPool
from sapwood.store.postgres.event_table import MAX_BIGINT, EventPlace
from sapwood.store.postgres.settled import PASSED, Settled

_APART = 1_000
"""A place is stored after so many events of a space."""
_FEW = 2 * _APART
"""How many events may be uncounted."""

_EVENTS = f"""
    SELECT tx, position FROM sapwood.events
    WHERE space = $1 AND (tx, position) > ($2, $3) AND tx < ({PASSED})::text::xid8
"""
_GAPS = _EVENTS.replace("sapwood.events", "sapwood.gaps")
_AFTER = f"{_EVENTS} UNION ALL {_GAPS}"
_COUNT = f"SELECT count(*) AS events FROM ({_AFTER}) AS place"
_FIRST = "ORDER BY tx, position LIMIT $6"
_FIND = f"""
    SELECT tx, position FROM (({_EVENTS} {_FIRST}) UNION ALL ({_GAPS} {_FIRST})) AS place
    ORDER BY tx, position OFFSET $6 - 1 LIMIT 1
"""
_STORE = f"""
    INSERT INTO sapwood.cursor_places (space, events, tx, position)
    SELECT $1, $6::bigint + number, tx, position FROM (
        SELECT tx, position, row_number() OVER (ORDER BY tx, position) AS number
        FROM ({_AFTER}) AS place
    ) AS numbered WHERE number % {_APART} = 0
    ON CONFLICT DO NOTHING
"""
_BEFORE = """
    SELECT events, tx, position FROM sapwood.cursor_places
    WHERE space = $1 AND events <= $2 ORDER BY events DESC LIMIT 1
"""
_OLD_PLACE = """
    SELECT
        (SELECT count(*) FROM sapwood.events WHERE space = $1 AND (tx, position) <= ($2, $3))
        + (SELECT count(*) FROM sapwood.gaps WHERE space = $1 AND (tx, position) <= ($2, $3))
            AS events,
        EXISTS (
            SELECT 1 FROM sapwood.events
            WHERE space = $1 AND tx = $2 AND position = $3
                AND tx <= (SELECT tx FROM sapwood.old_cursors)
        ) AS known
"""


_STORED = """
    SELECT (
        SELECT count(*) FROM sapwood.events WHERE space = $1 AND (tx, position) > ($2, $3)
    ) + (
        SELECT count(*) FROM sapwood.gaps WHERE space = $1 AND (tx, position) > ($2, $3)
    ) AS events
"""


class _Place(NamedTuple):
    """The place of the last of the first `events` events of a space."""

    events: int = 0
    tx: int = 0
    position: int = 0


class CursorPlaces:
    """Counts the events of spaces."""

    def __init__(self, writers: ReaderPool, scanners: ReaderPool, settled: Settled) -> None:
        """`writers` may store places; `scanners` read the events of one space."""
        self._writers = writers
        self._scanners = scanners
        self._settled = settled
        self._stored: Counter[Space] = Counter()
        self._tasks: set[asyncio.Task[None]] = set()

    async def end(self, space: Space) -> Cursor:
        """The cursor after all events that a tail could yield now."""
        base = await self._before(space, MAX_BIGINT)
        (row,) = await self._scanners.of(space).fetch(_COUNT, *self._after(space, base))
        if row["events"] > _FEW:
            await self._store(space, base)
        return Cursor(base.events + row["events"])

    async def count(self, space: Space) -> int:
        """The number of events, with those that no tail can yield yet."""
        base = await self._before(space, MAX_BIGINT)
        (row,) = await self._scanners.of(space).fetch(_STORED, space, base.tx, base.position)
        if row["events"] > _FEW:
            await self._store(space, base)
        return base.events + row["events"]

    async def place_of(self, space: Space, cursor: Cursor) -> tuple[int, EventPlace]:
        """The number of events of the space up to a cursor, and the place of the last of them.

        Raises `LogError` if the space has no event there.
        """
        if cursor == Cursor():
            return 0, EventPlace()
        if cursor.events < 0 or max(cursor.events, cursor.position) > MAX_BIGINT:
            raise unknown_cursor()
        if cursor.position:
            return await self._place_of_old(space, EventPlace(cursor.events, cursor.position))
        base = await self._before(space, cursor.events)
        if cursor.events - base.events > _FEW:
            await self._store(space, await self._before(space, MAX_BIGINT))
            base = await self._before(space, cursor.events)
        if base.events == cursor.events:
            return base.events, EventPlace(base.tx, base.position)
        found = await self._find(space, base, cursor.events)
        if found is None:  # another process may have looked past a stranger's transaction
            await self._settled.advance()
            found = await self._find(space, base, cursor.events)
        if found is None:
            raise unknown_cursor()
        return cursor.events, found

    async def _find(self, space: Space, base: _Place, events: int) -> EventPlace | None:
        rows = await self._scanners.of(space).fetch(
            _FIND, *self._after(space, base), events - base.events
        )
        return EventPlace(rows[0]["tx"], rows[0]["position"]) if rows else None

    def schedule(self, stored: Mapping[Space, int]) -> None:
        """Call this with the number of stored events: places are stored in the background."""
        self._stored.update(stored)
        for space, events in list(self._stored.items()):
            if events > _FEW:
                del self._stored[space]
                task = asyncio.ensure_future(self._store_newest(space))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Waits for the work in the background."""
        await asyncio.gather(*self._tasks)

    async def _place_of_old(self, space: Space, place: EventPlace) -> tuple[int, EventPlace]:
        """The place of a cursor that an earlier version returned."""
        rows = await self._scanners.of(space).fetch(_OLD_PLACE, space, *place)
        if not rows or not rows[0]["known"]:
            raise unknown_cursor()
        return rows[0]["events"], place

    async def _store_newest(self, space: Space) -> None:
        with suppress(LogError):  # the next one who asks for a cursor counts
            await self._store(space, await self._before(space, MAX_BIGINT))

    async def _store(self, space: Space, base: _Place) -> None:
        """Stores all places after the last one."""
        try:
            await self._writers.fetch(_STORE, *self._after(space, base), base.events)
        except LogError as error:
            if not isinstance(error.__cause__, asyncpg.InsufficientPrivilegeError):
                raise  # a login that only reads counts each time

    async def _before(self, space: Space, events: int) -> _Place:
        """The last stored place up to this number of events."""
        row = await self._writers.fetchrow(_BEFORE, space, events)
        return _Place(*row) if row else _Place()

    def _after(self, space: Space, base: _Place) -> tuple[Space, int, int, int, int]:
        return space, base.tx, base.position, *self._settled.arguments
