"""Full-text search: the terms of an event, the task that fills the index, and the search.

A commit never waits for the index. A background task indexes new events while this process is
idle, also those that another program wrote before this process opened the database. A search first
indexes what is missing, for two seconds at most: if there is more, it indexes the newest events and
leaves the rest to the background. Only one process at a time works on a space. The table
`searchable` has a cursor for each space. Events after the oldest running transaction are indexed
too, but the cursor stays before them.

A `tsvector` stores positions of at most 16,383 words and has at most a megabyte. So a very long
text is indexed in several parts, up to a limit. Neighbouring parts overlap, so that a phrase across
the border is found. Words in different parts of such a text are not found together.
"""

import asyncio
import hashlib
import logging
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from sapwood.core.event_texts import event_texts
from sapwood.core.events import Event, Recorded
from sapwood.core.ids import AgentId, EventRef, Space
from sapwood.core.log_values import SearchHit
from sapwood.core.search_text import index_terms, query_phrases, snippet_of
from sapwood.store.postgres.connections import Fetch, ReaderPool
from sapwood.store.postgres.event_table import COLUMNS, EventPlace, read_refs, recorded_of
from sapwood.store.postgres.key_table import KeyTable
from sapwood.store.space_cipher import SpaceCipher

if TYPE_CHECKING:
    from sapwood.store.postgres.connections import Connection, Row


_TERMS_PER_PART, _OVERLAP, _MAX_PARTS = 12_000, 32, 16
_MAX_TERM = 64  # in a very long text, where hashes and base64 would fill the megabyte
_ONE_PART_CHARACTERS = 16_000


def parts_of(event: Event) -> list[str]:
    """The terms of an event as texts to index: none, one, or several for a very long event."""
    text = index_terms(event_texts(event).search)
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


_log = logging.getLogger("sapwood.search")

_PAGE = 250
_BACKGROUND_PAGE = 100
"""Events of one page in the background: a page is prepared in one go, and others wait for it."""
_PATIENCE = 2.0
"""Seconds that a search waits for the index."""
_FIRST_LOOK_SECONDS = 5.0
"""Seconds after which an open database is looked through for events that nobody indexed."""
_IDLE_SECONDS, _MAX_WAIT_SECONDS = 0.25, 5.0
_BUSY_SHARE, _IDLE_SHARE = 0.1, 0.5  # of the time, while commits arrive and while none do

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
_NEWEST = f"""
    SELECT {COLUMNS} FROM (
        SELECT {COLUMNS}, tx, position FROM sapwood.events WHERE space = $1
        ORDER BY tx DESC, position DESC LIMIT $2
    ) AS event
    WHERE NOT EXISTS (
        SELECT FROM sapwood.search AS known
        WHERE known.space = $1 AND known.agent = event.agent AND known.version = event.version
    )
"""
_SPACES = """
    WITH RECURSIVE found AS (
        (SELECT space FROM sapwood.agents ORDER BY space LIMIT 1)
        UNION ALL
        SELECT (
            SELECT agents.space FROM sapwood.agents
            WHERE agents.space > found.space ORDER BY agents.space LIMIT 1
        )
        FROM found WHERE found.space IS NOT NULL
    )
    SELECT space FROM found WHERE space IS NOT NULL
"""
_SET_CURSOR = """
    INSERT INTO sapwood.searchable (space, tx, position) VALUES ($1, $2, $3)
    ON CONFLICT (space) DO UPDATE SET tx = excluded.tx, position = excluded.position
"""


class FulltextIndexer:
    """Indexes the spaces that this process writes to, in the background."""

    def __init__(self, readers: ReaderPool, shift: int, keys: KeyTable | None = None) -> None:
        self._readers = readers
        self._keys = keys
        self._shift = shift
        self._waiting: dict[Space, None] = {}
        self._last_commit = 0.0
        self._task: asyncio.Task[None] | None = None
        self._looking = asyncio.create_task(self._look_for_missing())
        self._behind: set[Space] = set()

    def schedule(self, spaces: Iterable[Space]) -> None:
        """Call this after commits to these spaces: their new events are indexed later."""
        self._waiting.update(dict.fromkeys(spaces))
        self._last_commit = asyncio.get_running_loop().time()
        self._start()

    def _start(self) -> None:
        if self._waiting and (self._task is None or self._task.done()):
            self._task = asyncio.create_task(self._index_when_idle())

    async def catch_up(self, space: Space, patience: float = _PATIENCE) -> None:
        """Indexes everything that was committed before the call, if `patience` seconds suffice.

        Otherwise it indexes the newest events, and the background task indexes the others.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + patience
        target = await self._index_target(space)
        cursor: EventPlace | None = EventPlace()
        while target and cursor is not None:
            if loop.time() > deadline:
                await self._leave_to_background(space)
                return
            cursor = await self._readers.use(
                _IndexPage(space, cursor, target, self._shift, keys=self._keys)
            )
        self._behind.discard(space)

    async def _leave_to_background(self, space: Space) -> None:
        await self._readers.use(_IndexNewest(space, self._keys))
        if space not in self._behind:
            self._behind.add(space)
            _log.warning(
                "The search index of space %s is still being built. Older messages will not be "
                "found until it is done.",
                space,
            )
        self._waiting[space] = None
        self._start()

    async def _look_for_missing(self) -> None:
        """Finds the spaces whose events nobody indexed, such as those of a bulk load."""
        await asyncio.sleep(_FIRST_LOOK_SECONDS)
        try:
            rows = await self._readers.fetch(_SPACES)
        except Exception:
            return  # the next search indexes what is missing
        self._waiting.update(dict.fromkeys(Space(row["space"]) for row in rows))
        self._start()

    async def close(self) -> None:
        """Stops the task. The next search indexes what is missing."""
        tasks = [task for task in (self._task, self._looking) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

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
            share = _IDLE_SHARE if idle else _BUSY_SHARE
            await asyncio.sleep((loop.time() - page_started) * (1 - share) / share)

    async def _index_page_of(self, space: Space) -> None:
        del self._waiting[space]
        try:
            target = await self._index_target(space)
            if target and await self._readers.use(
                _IndexPage(
                    *(space, EventPlace(), target, self._shift),
                    in_background=True,
                    keys=self._keys,
                )
            ):
                self._waiting[space] = None
        except Exception:
            return  # the next search meets the same error and raises it

    async def _index_target(self, space: Space) -> int:
        """The transaction up to which events must be indexed, or 0 if none is missing."""
        (state,) = await self._readers.fetch(_MISSING, space, self._shift)
        return state["target"] if state["missing"] else 0


async def index_events(
    connection: "Connection",
    space: Space,
    events: Sequence[Recorded],
    cipher: SpaceCipher | None = None,
) -> None:
    """Adds events to the index. The transaction must hold `INDEX_LOCK`."""
    found = [
        (
            *(each.agent, agent_term(each.agent), each.version, part, each.at),
            terms if cipher is None else cipher.terms(terms),
        )
        for each in events
        for part, terms in enumerate(parts_of(each.event))
    ]
    if found:
        columns = zip(*found, strict=True)
        await connection.execute(_INDEX, space, space_term(space), *columns)


class _IndexPage:
    """Adds one page of events to the index, in one transaction."""

    def __init__(
        self,
        space: Space,
        after: EventPlace,
        target: int,
        shift: int,
        in_background: bool = False,
        keys: KeyTable | None = None,
    ) -> None:
        self._space = space
        self._keys = keys
        self._after = after
        self._target = target
        self._shift = shift
        self._lock = _TRY_LOCK if in_background else INDEX_LOCK
        self._size = _BACKGROUND_PAGE if in_background else _PAGE

    async def __call__(self, connection: "Connection") -> EventPlace | None:
        """Returns the cursor for the next page, or None if this was the last."""
        async with connection.transaction():
            if not await connection.fetchval(self._lock, self._space):
                return None
            row = await connection.fetchrow(_CURSOR, self._space)
            saved = EventPlace(row["tx"], row["position"]) if row else EventPlace()
            start = max(saved, self._after)
            rows = await connection.fetch(
                _NEXT, self._space, *start, self._shift, self._target, self._size
            )
            await _index_rows(connection, self._space, rows, self._keys)
            if start == saved:
                await self._advance_cursor(connection, rows)
        return EventPlace(rows[-1]["tx"], rows[-1]["position"]) if len(rows) == self._size else None

    async def _advance_cursor(self, connection: "Connection", rows: "Sequence[Row]") -> None:
        """Moves the stored cursor past the rows before the oldest running transaction."""
        if settled := [row for row in rows if row["settled"]]:
            last = settled[-1]
            await connection.execute(_SET_CURSOR, self._space, last["tx"], last["position"])


class _IndexNewest:
    """Adds the newest events to the index, and leaves the cursor where it is."""

    def __init__(self, space: Space, keys: KeyTable | None) -> None:
        self._space = space
        self._keys = keys

    async def __call__(self, connection: "Connection") -> None:
        async with connection.transaction():
            await connection.fetchval(INDEX_LOCK, self._space)
            rows = await connection.fetch(_NEWEST, self._space, _PAGE)
            await _index_rows(connection, self._space, rows, self._keys)


async def _index_rows(
    connection: "Connection", space: Space, rows: "Sequence[Row]", keys: KeyTable | None
) -> None:
    events = await recorded_of(connection.fetch, space, rows, keys)
    cipher = None if keys is None else await keys.of(space)
    await index_events(connection, space, events, cipher)


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
    look_up: Fetch | None = None,
    keys: KeyTable | None = None,
) -> list[SearchHit]:
    """The indexed events that contain these words, best match first.

    `look_up` reads the index, if `fetch` is not to do it. The words that are shown are always those
    that `fetch` returns.
    """
    asked = query_phrases(query)
    if keys is not None and (cipher := await keys.of(space)):
        asked = cipher.phrases(asked)
    phrases = [" ".join(phrase) for phrase in asked]
    if not phrases or (agents is not None and not agents):
        return []
    rows = await (look_up or fetch)(_SEARCH, space, _scope(space, agents), phrases, limit, offset)
    scores = {EventRef(row["agent"], row["version"]): row["score"] for row in rows}
    events = await read_refs(fetch, space, list(scores), keys)
    return [
        SearchHit(
            ref,
            events[ref].kind,
            events[ref].at,
            snippet_of(event_texts(events[ref].event).search, query),
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
