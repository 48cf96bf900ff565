"""Full-text search: the terms of an event, the task that fills the index, and the search.

A commit never waits for the index. A background task indexes new events while this process is
idle, and a search first indexes what is missing. Only one process at a time works on a space. The
table `searchable` has a cursor for each space. Events after the oldest running transaction are
indexed too, but the cursor stays before them.

A `tsvector` stores positions of at most 16,383 words and has at most a megabyte. So a very long
text is indexed in several parts, up to a limit. Neighbouring parts overlap, so that a phrase across
the border is found. Words in different parts of such a text are not found together.
"""

import asyncio
import hashlib
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from sapwood.core.events import Event, Recorded
from sapwood.core.ids import AgentId, EventRef, Space
from sapwood.core.log_values import SearchHit
from sapwood.core.search_text import index_terms, query_phrases, snippet_of, text_of
from sapwood.store.postgres.connections import Fetch, ReaderPool
from sapwood.store.postgres.event_table import COLUMNS, EventPlace, read_refs, recorded_of

if TYPE_CHECKING:
    from sapwood.store.postgres.connections import Connection, Row

__all__ = [
    "INDEX_LOCK",
    "FulltextIndexer",
    "agent_term",
    "index_events",
    "parts_of",
    "search_words",
    "space_term",
]

_TERMS_PER_PART, _OVERLAP, _MAX_PARTS = 12_000, 32, 16
_MAX_TERM = 64  # in a very long text, where hashes and base64 would fill the megabyte
_ONE_PART_CHARACTERS = 16_000


def parts_of(event: Event) -> list[str]:
    """The terms of an event as texts to index: none, one, or several for a very long event."""
    text = index_terms(text_of(event))
    if len(text) < _ONE_PART_CHARACTERS:
        return [text] if text else []
    terms = [term[:_MAX_TERM] for term in text.split()]
    starts = range(0, len(terms), _TERMS_PER_PART)[:_MAX_PARTS]
    return [" ".join(terms[start : start + _TERMS_PER_PART + _OVERLAP]) for start in starts]


def space_term(space: Space) -> str:
    """The term that marks every event of a space."""
    return f"s{_digest(space)}"


def agent_term(agent: AgentId) -> str:
    """The term that marks every event of an agent."""
    return f"a{_digest(agent)}"


def _digest(name: str) -> str:
    return hashlib.blake2b(name.encode(), digest_size=12).hexdigest()


_PAGE = 100
_IDLE_SECONDS, _MAX_WAIT_SECONDS = 0.25, 5.0
_BUSY_SHARE = 0.1  # of the time, while commits arrive

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
INDEX_LOCK = "SELECT true FROM pg_advisory_xact_lock(hashtextextended($1, 0))"
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
_SET_CURSOR = """
    INSERT INTO sapwood.searchable (space, tx, position) VALUES ($1, $2, $3)
    ON CONFLICT (space) DO UPDATE SET tx = excluded.tx, position = excluded.position
"""


class FulltextIndexer:
    """Indexes the spaces that this process writes to, in the background."""

    def __init__(self, readers: ReaderPool, shift: int) -> None:
        self._readers = readers
        self._shift = shift
        self._waiting: dict[Space, None] = {}
        self._last_commit = 0.0
        self._task: asyncio.Task[None] | None = None

    def schedule(self, spaces: Iterable[Space]) -> None:
        """Call this after commits to these spaces: their new events are indexed later."""
        self._waiting.update(dict.fromkeys(spaces))
        self._last_commit = asyncio.get_running_loop().time()
        if self._waiting and (self._task is None or self._task.done()):
            self._task = asyncio.create_task(self._index_when_idle())

    async def catch_up(self, space: Space) -> None:
        """Indexes everything that was committed before the call."""
        target = await self._index_target(space)
        cursor: EventPlace | None = EventPlace()
        while target and cursor is not None:
            cursor = await self._readers.use(_IndexPage(space, cursor, target, self._shift))

    async def close(self) -> None:
        """Stops the task. The next search indexes what is missing."""
        if self._task:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _index_when_idle(self) -> None:
        """Indexes the waiting spaces: while no commits arrive, or slowly if they never stop."""
        loop = asyncio.get_running_loop()
        started = loop.time()
        while self._waiting:
            idle = loop.time() - self._last_commit >= _IDLE_SECONDS
            if not idle and loop.time() - started < _MAX_WAIT_SECONDS:
                await asyncio.sleep(_IDLE_SECONDS)
                continue
            page_started = loop.time()
            await self._index_page_of(next(iter(self._waiting)))
            if not idle:
                await asyncio.sleep((loop.time() - page_started) * (1 - _BUSY_SHARE) / _BUSY_SHARE)

    async def _index_page_of(self, space: Space) -> None:
        del self._waiting[space]
        try:
            target = await self._index_target(space)
            if target and await self._readers.use(
                _IndexPage(space, EventPlace(), target, self._shift, wait_for_lock=False)
            ):
                self._waiting[space] = None
        except Exception:
            return  # the next search meets the same error and raises it

    async def _index_target(self, space: Space) -> int:
        """The transaction up to which events must be indexed, or 0 if none is missing."""
        (state,) = await self._readers.fetch(_MISSING, space, self._shift)
        return state["target"] if state["missing"] else 0


async def index_events(connection: "Connection", space: Space, events: Sequence[Recorded]) -> None:
    """Adds events to the index. The transaction must hold `INDEX_LOCK`."""
    found = [
        (each.agent, agent_term(each.agent), each.version, part, each.at, terms)
        for each in events
        for part, terms in enumerate(parts_of(each.event))
    ]
    if found:
        columns = zip(*found, strict=True)
        await connection.execute(_INDEX, space, space_term(space), *columns)


class _IndexPage:
    """Adds one page of events to the index, in one transaction."""

    def __init__(
        self, space: Space, after: EventPlace, target: int, shift: int, wait_for_lock: bool = True
    ) -> None:
        self._space = space
        self._after = after
        self._target = target
        self._shift = shift
        self._wait_for_lock = wait_for_lock

    async def __call__(self, connection: "Connection") -> EventPlace | None:
        """Returns the cursor for the next page, or None if this was the last."""
        async with connection.transaction():
            if not await connection.fetchval(
                INDEX_LOCK if self._wait_for_lock else _TRY_LOCK, self._space
            ):
                return None
            row = await connection.fetchrow(_CURSOR, self._space)
            saved = EventPlace(row["tx"], row["position"]) if row else EventPlace()
            start = max(saved, self._after)
            rows = await connection.fetch(
                _NEXT, self._space, *start, self._shift, self._target, _PAGE
            )
            events = await recorded_of(connection.fetch, self._space, rows)
            await index_events(connection, self._space, events)
            if start == saved:
                await self._advance_cursor(connection, rows)
        return EventPlace(rows[-1]["tx"], rows[-1]["position"]) if len(rows) == _PAGE else None

    async def _advance_cursor(self, connection: "Connection", rows: "Sequence[Row]") -> None:
        """Moves the stored cursor past the rows before the oldest running transaction."""
        if settled := [row for row in rows if row["settled"]]:
            last = settled[-1]
            await connection.execute(_SET_CURSOR, self._space, last["tx"], last["position"])


_SEARCH = """
    WITH asked AS MATERIALIZED (
        SELECT string_agg('(' || phrase::text || ')', ' & ')::tsquery AS words
        FROM (
            SELECT phraseto_tsquery('sapwood.sapwood', terms) AS phrase
            FROM unnest($3::text[]) AS terms
        ) AS phrases
        WHERE numnode(phrase) > 0
    )
    SELECT agent, version, max(at) AS at, max(ts_rank(terms, asked.words, 1)) AS score
    FROM sapwood.search, asked
    WHERE space = $1 AND terms @@ (SELECT words && $2::text::tsquery FROM asked)
    GROUP BY agent, version
    ORDER BY score DESC, at DESC, agent, version
    LIMIT $4 OFFSET $5
"""


async def search_words(
    fetch: Fetch,
    space: Space,
    query: str,
    agents: Sequence[AgentId] | None,
    limit: int,
    offset: int,
) -> list[SearchHit]:
    """The indexed events that contain these words, best match first."""
    phrases = [" ".join(phrase) for phrase in query_phrases(query)]
    if not phrases or (agents is not None and not agents):
        return []
    rows = await fetch(_SEARCH, space, _scope(space, agents), phrases, limit, offset)
    scores = {EventRef(row["agent"], row["version"]): row["score"] for row in rows}
    events = await read_refs(fetch, space, list(scores))
    return [
        SearchHit(
            ref,
            events[ref].kind,
            events[ref].at,
            snippet_of(text_of(events[ref].event), query),
            score,
        )
        for ref, score in scores.items()
        if ref in events  # else it was erased meanwhile
    ]


def _scope(space: Space, agents: Sequence[AgentId] | None) -> str:
    """The space and the agents as a query of terms, so that the index itself filters by them."""
    if agents is None:
        return space_term(space)
    return f"{space_term(space)} & ({' | '.join(agent_term(agent) for agent in agents)})"
