"""The search index follows the log: a projection with a cursor of its own in each space.

It runs when this process has little else to do, and whenever somebody searches, for whatever is
missing then. One process at a time works on a space. Events of transactions that are newer than
one still under way are indexed too, but the cursor waits in front of them.
"""

import asyncio
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from sapwood.core.events import Recorded
from sapwood.core.ids import Space
from sapwood.core.log import Cursor
from sapwood.store.postgres.reading import COLUMNS, recorded_from
from sapwood.store.postgres.sessions import Readers
from sapwood.store.postgres.terms import agent_term, parts_of, space_term

if TYPE_CHECKING:
    from sapwood.store.postgres.sessions import Row, Session

__all__ = ["Projector"]

_PAGE = 100
_QUIET, _LONGEST_WAIT = 0.25, 5.0
_SHARE = 0.1  # of the time, while there is no quiet

_MISSING = """
    SELECT pg_snapshot_xmax(shot)::text::bigint + $2 AS target, EXISTS (
        SELECT FROM sapwood.events AS event
        WHERE event.space = $1 AND (event.tx, event.position) > (
            coalesce((SELECT tx FROM sapwood.searchable WHERE space = $1), '0'),
            coalesce((SELECT position FROM sapwood.searchable WHERE space = $1), 0)
        )
    ) AS missing
    FROM pg_current_snapshot() AS shot
"""
_LOCK = "SELECT true FROM pg_advisory_xact_lock(hashtextextended($1, 0))"
_TRY_LOCK = "SELECT pg_try_advisory_xact_lock(hashtextextended($1, 0))"
_CURSOR = "SELECT tx, position FROM sapwood.searchable WHERE space = $1"
_NEXT = f"""
    SELECT event.*
    FROM (
        SELECT (pg_snapshot_xmin(shot)::text::bigint + $4)::text::xid8 AS limit
        FROM pg_current_snapshot() AS shot
    ) AS past,
    LATERAL (
        SELECT {COLUMNS}, tx, position, tx < past.limit AS settled FROM sapwood.events
        WHERE space = $1 AND (tx, position) > ($2, $3) AND tx < $5
            AND (tx < past.limit OR NOT EXISTS (
                SELECT FROM sapwood.search AS known
                WHERE known.space = events.space AND known.agent = events.agent
                    AND known.version = events.version
            ))
        ORDER BY tx, position LIMIT $6
    ) AS event
"""
_INDEX = """
    INSERT INTO sapwood.search (space, agent, version, part, at, terms)
    SELECT $1, row.agent, row.version, row.part, row.at,
           array_to_tsvector(ARRAY[$2, row.scope]) || to_tsvector('sapwood.sapwood', row.terms)
    FROM unnest($3::text[], $4::text[], $5::bigint[], $6::int[], $7::bigint[], $8::text[])
        AS row (agent, scope, version, part, at, terms)
    ON CONFLICT DO NOTHING
"""
_MOVE = """
    INSERT INTO sapwood.searchable (space, tx, position) VALUES ($1, $2, $3)
    ON CONFLICT (space) DO UPDATE SET tx = excluded.tx, position = excluded.position
"""


class Projector:
    """Keeps the index of the spaces that this process writes to, without getting in the way."""

    def __init__(self, readers: Readers, shift: int) -> None:
        self._readers = readers
        self._shift = shift
        self._waiting: dict[Space, None] = {}
        self._last = 0.0
        self._task: asyncio.Task[None] | None = None

    def later(self, spaces: Iterable[Space]) -> None:
        """There is something new in these spaces."""
        self._waiting.update(dict.fromkeys(spaces))
        self._last = asyncio.get_running_loop().time()
        if self._waiting and (self._task is None or self._task.done()):
            self._task = asyncio.create_task(self._work())

    async def catch_up(self, space: Space) -> None:
        """Indexes everything that was committed before the call."""
        target = await self._missing(space)
        place = Cursor()
        while target and place:
            place = await self._readers.use(_Step(space, place, target, self._shift))

    async def close(self) -> None:
        """Stops; the next search makes up for what is missing."""
        if self._task:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _work(self) -> None:
        """Works off the spaces that wait: in quiet moments, or else slowly."""
        loop = asyncio.get_running_loop()
        since = loop.time()
        while self._waiting:
            quiet = loop.time() - self._last >= _QUIET
            if not quiet and loop.time() - since < _LONGEST_WAIT:
                await asyncio.sleep(_QUIET)
                continue
            began = loop.time()
            await self._one_step(next(iter(self._waiting)))
            if not quiet:
                await asyncio.sleep((loop.time() - began) * (1 - _SHARE) / _SHARE)

    async def _one_step(self, space: Space) -> None:
        del self._waiting[space]
        try:
            target = await self._missing(space)
            if target and await self._readers.use(
                _Step(space, Cursor(), target, self._shift, wait=False)
            ):
                self._waiting[space] = None
        except Exception:
            return  # whoever searches there will hear of it

    async def _missing(self, space: Space) -> int:
        """The transaction before which to index, or 0 if nothing is missing."""
        (state,) = await self._readers.fetch(_MISSING, space, self._shift)
        return state["target"] if state["missing"] else 0


class _Step:
    """One page of events into the index, in one transaction."""

    def __init__(
        self, space: Space, place: Cursor, target: int, shift: int, wait: bool = True
    ) -> None:
        self._space = space
        self._place = place
        self._target = target
        self._shift = shift
        self._wait = wait

    async def __call__(self, session: "Session") -> Cursor | None:
        """Where the next page starts, or None if this was the last."""
        async with session.transaction():
            if not await session.fetchval(_LOCK if self._wait else _TRY_LOCK, self._space):
                return None
            row = await session.fetchrow(_CURSOR, self._space)
            saved = Cursor(row["tx"], row["position"]) if row else Cursor()
            start = max(saved, self._place)
            place = (start.transaction, start.position)
            rows = await session.fetch(_NEXT, self._space, *place, self._shift, self._target, _PAGE)
            await self._index(session, await recorded_from(session.fetch, self._space, rows))
            if start == saved:
                await self._move(session, rows)
        return Cursor(rows[-1]["tx"], rows[-1]["position"]) if len(rows) == _PAGE else None

    async def _index(self, session: "Session", events: Sequence[Recorded]) -> None:
        found = [
            (each.agent, agent_term(each.agent), each.version, part, each.at, terms)
            for each in events
            for part, terms in enumerate(parts_of(each.event))
        ]
        if found:
            columns = zip(*found, strict=True)
            await session.execute(_INDEX, self._space, space_term(self._space), *columns)

    async def _move(self, session: "Session", rows: "Sequence[Row]") -> None:
        """Moves the cursor past what can no longer grow, if nothing before it was left out."""
        if settled := [row for row in rows if row["settled"]]:
            last = settled[-1]
            await session.execute(_MOVE, self._space, last["tx"], last["position"])
