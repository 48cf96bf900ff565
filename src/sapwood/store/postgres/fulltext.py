"""Full-text search: the terms of an event, the task that fills the index, and the search.

A commit never waits for the index. A background task indexes new events while this process is
idle, also those that another program wrote before this process opened the database. A search first
indexes what is missing, for two seconds at most: if there is more, it indexes the newest events and
leaves the rest to the background. Only one process at a time works on a space. The table
`searchable` has a cursor for each space. Events after the oldest running transaction are indexed
too, but the cursor stays before them.

The index finds the events that have a term; `core/search_ranking.py` ranks them. A `tsvector` has
at most a megabyte. So a very long text is indexed in several parts, up to a limit. Words of a
phrase in different parts of such a text are not found together.
"""

import asyncio
import logging
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from sapwood import meaning
from sapwood.core.event_texts import event_texts
from sapwood.core.events import Event, Recorded
from sapwood.core.ids import AgentId, EventRef, Space
from sapwood.core.log_values import SearchHit
from sapwood.core.search_query import SearchKey, SearchQuery
from sapwood.core.search_ranking import (
    IN_TURNS,
    MAX_PER_TERM,
    MAX_TEXTS,
    CandidateEvent,
    KeyHits,
    choose_events,
    common_terms,
    rank_turns,
    unranked_hits,
    useful_keys,
    wider_keys,
)
from sapwood.core.search_terms import agent_term, index_terms
from sapwood.core.turn_numbers import TURN_STARTS
from sapwood.store.postgres.connections import INDEX_LOCK, Fetch, ReaderPool
from sapwood.store.postgres.event_table import COLUMNS, EventPlace, read_refs, recorded_of
from sapwood.store.postgres.key_table import KeyTable
from sapwood.store.postgres.meaning_table import nearest_events
from sapwood.store.space_cipher import SpaceCipher

if TYPE_CHECKING:
    from sapwood.store.postgres.connections import Connection, Row


_TERMS_PER_PART, _MAX_PARTS = 12_000, 16


def term_parts(event: Event) -> list[list[str]]:
    """The terms of an event to index: none, one list, or several for a very long event."""
    terms = index_terms(event_texts(event).search)
    starts = range(0, len(terms), _TERMS_PER_PART)[:_MAX_PARTS]
    return [terms[start : start + _TERMS_PER_PART] for start in starts]


def space_term(space: Space) -> str:
    """The term that marks every event of a space."""
    return f"\u00a7{agent_term(space)}"


_log = logging.getLogger("sapwood.search")

_PAGE = 250
_BACKGROUND_PAGE = 100
"""Events of one page in the background: a page is prepared in one go, and others wait for it."""
_LOOK_AGAIN = 0.02
"""Seconds until a search tries again to index what another process indexes."""
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
           array_to_tsvector(ARRAY[$2, row.scope] || string_to_array(row.terms, ' '))
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


class PostgresIndexer:
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
            try:
                cursor = await self._readers.use(
                    _IndexPage(space, cursor, target, self._shift, keys=self._keys)
                )
            except _Indexing:
                await asyncio.sleep(_LOOK_AGAIN)
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
            " ".join(terms) if cipher is None else cipher.terms(" ".join(terms)),
        )
        for each in events
        for part, terms in enumerate(term_parts(each.event))
    ]
    if found:
        columns = zip(*found, strict=True)
        await connection.execute(_INDEX, space, space_term(space), *columns)


class _Indexing(Exception):
    """Another process indexes the space, or erases something of it."""


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
        self._in_background = in_background
        self._size = _BACKGROUND_PAGE if in_background else _PAGE

    async def __call__(self, connection: "Connection") -> EventPlace | None:
        """Returns the cursor for the next page, or None if this was the last.

        Raises `_Indexing`, without waiting on a connection that others need, if another process
        indexes the space. In the background it returns None.
        """
        async with connection.transaction():
            if not await connection.fetchval(_TRY_LOCK, self._space):
                if self._in_background:
                    return None
                raise _Indexing
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


_LOOK_UP = """
    SELECT asked.number, found.agent, found.version, found.at
    FROM unnest($2::text[]::tsquery[]) WITH ORDINALITY AS asked (words, number),
    LATERAL (
        SELECT agent, version, at FROM sapwood.search
        WHERE space = $1 AND terms @@ asked.words
            AND ($4::bigint = 0 OR at < $4) AND at >= $5
        LIMIT $3
    ) AS found
"""
_BLOCKS = """
    SELECT coalesce(sum(pg_relation_size(inhrelid)), 0) / current_setting('block_size')::int
    AS blocks FROM pg_inherits WHERE inhparent = 'sapwood.search'::regclass
"""
_SAMPLE = """
    WITH sample AS MATERIALIZED (
        SELECT terms, space = $1 AS own
        FROM sapwood.search TABLESAMPLE SYSTEM ($3) REPEATABLE (1)
    )
    SELECT asked.number, count(*) AS sampled, count(*) FILTER (WHERE own) AS seen,
           count(*) FILTER (WHERE own AND sample.terms @@ asked.words) AS having
    FROM sample, unnest($2::text[]::tsquery[]) WITH ORDINALITY AS asked (words, number)
    GROUP BY asked.number
"""
_VERSIONS = """
    SELECT coalesce(sum(version), 0)::bigint AS events FROM sapwood.agents
    WHERE space = $1 AND agent = ANY($2)
"""
_TURNS = """
    SELECT asked.agent, asked.version, began.version AS turn
    FROM unnest($2::text[], $3::bigint[]) AS asked (agent, version),
    LATERAL (
        SELECT version FROM sapwood.events
        WHERE space = $1 AND agent = asked.agent AND version < asked.version AND kind = ANY($4)
        ORDER BY version DESC LIMIT 1
    ) AS began
"""
_SAMPLED_BLOCKS = 100
_COMMON, _FEW = 20_000, 20
"""A word that more events have is only counted, unless few have one of the others."""
_OWN_SHARE = 0.5
"""From this share of the index on, a space is not looked up in it: its own list of events would be
the longest of all, and takes longer to read than the events of others to pass over."""


async def search_words(
    fetch: Fetch,
    space: Space,
    query: SearchQuery,
    agents: Sequence[AgentId] | None,
    limit: int,
    offset: int,
    total: int,
    look_up: Fetch | None = None,
    keys: KeyTable | None = None,
) -> list[SearchHit]:
    """A page of the turns that have words of the query, best match first.

    `total` is the number of events in the space. `look_up` reads the index, if `fetch` is not to do
    it. The words that are shown are always those that `fetch` returns.
    """
    if not query.keys or (agents is not None and not agents):
        return []
    cipher = None if keys is None else await keys.of(space)
    index = _WordIndex(
        look_up or fetch, space, query, agents, cipher, max(MAX_PER_TERM, limit + offset)
    )
    if agents is not None:
        (row,) = await fetch(_VERSIONS, space, list(agents))
        total = row["events"]
    asked = list(query.keys)
    found = await index.look_up(asked, total)
    if cipher is None and (wider := wider_keys(asked, found)):
        found |= await index.look_up(wider, total)
        asked += wider
    asked = useful_keys(asked, found)
    if any(key.phrase and key not in asked for key in query.keys):
        return []
    both = (await index.look_up(common_terms(asked, found, index.limit), total)).values()
    with_all = [ref for hits in both for ref in hits.events]
    chosen = choose_events(asked, found, total, with_all)
    near: list[EventRef] = []
    if cipher is None and meaning.can_answer(query.question):
        near = await nearest_events(look_up or fetch, space, query, agents)
    best = list(dict.fromkeys((*chosen[:MAX_TEXTS], *near)))
    events = await _candidates(fetch, space, best, keys)
    likeness = meaning.event_likeness(query.question, events) if near else None
    hits = rank_turns(asked, found, total, events, offset + limit, likeness)
    if offset + limit > len(hits):
        rest = chosen[MAX_TEXTS : MAX_TEXTS + offset + limit]
        hits += unranked_hits(asked, await _candidates(fetch, space, rest, keys), hits)
    return hits[offset : offset + limit]


class _WordIndex:
    """The index of one space within the limits of one search."""

    def __init__(
        self,
        fetch: Fetch,
        space: Space,
        query: SearchQuery,
        agents: Sequence[AgentId] | None,
        cipher: SpaceCipher | None,
        limit: int,
    ) -> None:
        self._fetch = fetch
        self._space = space
        self._query = query
        self._cipher = cipher
        self._scope = _scope(space, agents)
        self._is_whole_space = agents is None
        self.limit = limit

    async def look_up(
        self, keys: Sequence[SearchKey], total: int
    ) -> dict[SearchKey, KeyHits[EventRef]]:
        """The newest events that have each key; of a very common one, any of them.

        In a large space very common words are only counted if there are rarer ones: to list events
        that nearly all of them match takes long and helps no ranking.
        """
        words = [self._words(key) for key in keys]
        shares: list[float] = []
        rare = list(range(len(keys)))
        if total > _COMMON and len(keys) > 1:
            shares = await self._shares(words)
            rare = [n for n in rare if keys[n].phrase or shares[n] * total <= _COMMON]
        found = await self._rows(words, rare)
        if len(rare) < len(keys) and sum(map(len, found)) < _FEW:
            rare = list(range(len(keys)))
            found = await self._rows(words, rare)
        complete = [n in rare and len(each) < self.limit for n, each in enumerate(found)]
        if not all(complete) and not shares:
            shares = await self._shares(words)
        counts = [
            float(len(each)) if complete[n] else max(float(len(each)), shares[n] * total)
            for n, each in enumerate(found)
        ]
        return {
            key: KeyHits(_newest_first(each), count)
            for key, each, count in zip(keys, found, counts, strict=True)
        }

    async def _rows(self, words: Sequence[str], asked: Sequence[int]) -> "list[list[Row]]":
        """The events that match each of these, none for those that are not asked for."""
        found: list[list[Row]] = [[] for _ in words]
        if asked:
            scoped = [f"{self._scope}{words[number]}" for number in asked]
            query = self._query
            rows = await self._fetch(
                _LOOK_UP, self._space, scoped, self.limit, query.before, query.after
            )
            for row in rows:
                number: int = row["number"]
                found[asked[number - 1]].append(row)
        return found

    def _words(self, key: SearchKey) -> str:
        terms = " ".join(key.terms)
        if self._cipher is not None:
            terms = self._cipher.terms(terms)
        # Terms have only letters and digits, so they contain no quote.
        return " & ".join(f"'{term}'{':*' if key.prefix else ''}" for term in terms.split())

    async def _shares(self, words: Sequence[str]) -> list[float]:
        """The estimated share of the events of the space that match each of these.

        Also finds out whether the index is mostly that of this space.
        """
        (size,) = await self._fetch(_BLOCKS)
        percent = min(100.0, 100.0 * _SAMPLED_BLOCKS / max(1, float(size["blocks"])))
        rows = await self._fetch(_SAMPLE, self._space, list(words), percent)
        shares = {row["number"]: row["having"] / row["seen"] for row in rows if row["seen"]}
        if self._is_whole_space and rows and rows[0]["seen"] >= _OWN_SHARE * rows[0]["sampled"]:
            self._scope = ""
        return [shares.get(number, 0.0) for number in range(1, len(words) + 1)]


def _newest_first(rows: "Sequence[Row]") -> list[EventRef]:
    ordered = sorted({(-at, agent, -version) for _, agent, version, at in rows})
    return [EventRef(agent, -version) for _, agent, version in ordered]


async def _candidates(
    fetch: Fetch, space: Space, refs: Sequence[EventRef], keys: KeyTable | None
) -> list[CandidateEvent]:
    """The events with the starts of their turns, without those that were erased meanwhile."""
    if not refs:
        return []
    events = await read_refs(fetch, space, refs, keys)
    inside = [ref for ref, each in events.items() if each.kind in IN_TURNS]
    rows = await fetch(
        *(_TURNS, space, [ref.agent for ref in inside], [ref.version for ref in inside]),
        list(TURN_STARTS),
    )
    turns = {EventRef(row["agent"], row["version"]): row["turn"] for row in rows}
    return [
        CandidateEvent(events[ref], turns.get(ref, ref.version)) for ref in refs if ref in events
    ]


def _scope(space: Space, agents: Sequence[AgentId] | None) -> str:
    """The start of a query: the space and the agents, so that the index itself filters by them."""
    if agents is None:
        return f"'{space_term(space)}' & "
    names = " | ".join(f"'{agent_term(agent)}'" for agent in agents)
    return f"'{space_term(space)}' & ({names}) & "
