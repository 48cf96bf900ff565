"""Full-text search: one FTS5 table for each space, the task that fills them, and the search.

A commit never waits for the index. A background task adds terms while nothing is being written,
and a search first adds what is missing. Reader threads extract the terms; the writer only inserts
them, in batches small enough not to delay a commit. FTS5 finds the events that have a term;
`core/search_ranking.py` ranks them.
"""

import asyncio
import json
from collections.abc import Sequence
from contextlib import suppress
from itertools import chain
from sqlite3 import Connection
from time import process_time

from msgspec import Struct

from sapwood import meaning
from sapwood.core.errors import KeyMissing
from sapwood.core.event_texts import event_texts
from sapwood.core.events import Recorded
from sapwood.core.ids import AgentId, Space
from sapwood.core.log_values import LogError, SearchHit
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
from sapwood.store.space_cipher import SpaceCipher
from sapwood.store.sqlite.connections import SqliteReaderPool
from sapwood.store.sqlite.cursor_places import count_page, event_count
from sapwood.store.sqlite.event_table import (
    ROW,
    Row,
    last_position,
    read_all_after,
    recorded_of,
)
from sapwood.store.sqlite.key_table import cipher_of
from sapwood.store.sqlite.meaning_table import forget_meanings, nearest_events
from sapwood.store.sqlite.writer import Writer

_MAX_EVENTS = 200
_MAX_CHARACTERS = 200_000
_IDLE_SECONDS = 0.5
_BUSY = 0.05
"""The share of a processor from which on this process is busy with something else."""
_COMMAND_SECONDS = 10.0
"""A process that ends within this time indexes nothing, unless it searches."""
_MAX_WAITS = 60
"""How often the task waits for a busy process, half a second each time."""
_MAX_AGENT_TERMS = 64
# Without content and places: the events have the texts, which decide about phrases and order. No
# entry is ever deleted; after an erasure the whole index is made again.
_CREATE = (
    "CREATE VIRTUAL TABLE {table} USING fts5(terms, content='', detail=none, tokenize='ascii')"
)


class WordBatch(Struct, frozen=True):
    """The words of the events after position `after`, up to and including position `last`.

    `erased` is how many agents had been erased when the words were read. `closed` are encrypted
    spaces whose events this program could not read: a program with their key makes their indexes
    again.
    """

    after: int
    last: int
    erased: int
    words: dict[Space, list[tuple[int, str]]]
    closed: frozenset[Space] = frozenset()


def indexed_position(connection: Connection) -> int:
    """The position of the last event in the index."""
    (position,) = connection.execute("SELECT position FROM indexed").fetchone()
    return position


def next_words(connection: Connection) -> WordBatch:
    """The next words to add to the index; few enough to be written quickly."""
    after, erased = connection.execute("SELECT position, erased FROM indexed").fetchone()
    last, words, characters = after, dict[Space, list[tuple[int, str]]](), 0
    closed = set[Space]()
    for row in read_all_after(connection, after, _MAX_EVENTS):
        last = row[0]
        try:
            terms = _terms_of_row(connection, row)
        except KeyMissing:
            closed.add(Space(row[1]))
            continue
        if terms:
            words.setdefault(Space(row[1]), []).append((last, terms))
        characters += len(terms)
        if characters > _MAX_CHARACTERS:
            break
    return WordBatch(after, last, erased, words, frozenset(closed))


def insert_words(connection: Connection, batch: WordBatch) -> None:
    """Adds a batch to the index, unless another process has added it or erased something."""
    moved = connection.execute(
        "UPDATE indexed SET position = ? WHERE position = ? AND erased = ?",
        (batch.last, batch.after, batch.erased),
    )
    if moved.rowcount != 1:
        return
    for space, words in batch.words.items():
        table = _table(connection, space) or _create_table(connection, space)
        connection.executemany(f"INSERT INTO {table} (rowid, terms) VALUES (?, ?)", words)
    for space in batch.closed:
        if _table(connection, space) is None:
            _create_table(connection, space)
        begin_rebuild(connection, space)


def _insert_and_count(connection: Connection, batch: WordBatch) -> None:
    """Adds a batch to the index. Also counts events for cursors, which needs no other moment."""
    insert_words(connection, batch)
    count_page(connection)


def search_words(
    connection: Connection,
    space: Space,
    query: SearchQuery,
    agents: Sequence[AgentId] | None,
    limit: int,
    offset: int,
) -> list[SearchHit]:
    """A page of the turns that have words of the query, best match first."""
    table = _table(connection, space)
    if table is None or not query.keys or (agents is not None and not agents):
        return []
    index = _WordIndex(connection, space, table, query, agents, max(MAX_PER_TERM, limit + offset))
    keys = list(query.keys)
    found = {key: index.look_up(key) for key in keys}
    if index.is_readable:
        wider = wider_keys(keys, found)
        found |= {key: index.look_up(key) for key in wider if key not in found}
        keys += wider
    keys = useful_keys(keys, found)
    if any(key.phrase and key not in keys for key in query.keys):
        return []
    both = [index.look_up(key).events for key in common_terms(keys, found, index.limit)]
    total = index.event_count()
    chosen = choose_events(keys, found, total, chain.from_iterable(both))
    near = index.nearest()
    events = index.read(list(dict.fromkeys((*chosen[:MAX_TEXTS], *near))))
    likeness = meaning.event_likeness(query.question, events) if near else None
    hits = rank_turns(keys, found, total, events, offset + limit, likeness)
    if offset + limit > len(hits):
        rest = index.read(chosen[MAX_TEXTS : MAX_TEXTS + offset + limit])
        hits += unranked_hits(keys, rest, hits)
    return hits[offset : offset + limit]


class _WordIndex:
    """The index of one space within the limits of one search."""

    def __init__(
        self,
        connection: Connection,
        space: Space,
        table: str,
        query: SearchQuery,
        agents: Sequence[AgentId] | None,
        limit: int,
    ) -> None:
        self._connection = connection
        self._space = space
        self._table = table
        self._query = query
        self._agents = agents
        self._cipher = cipher_of(connection, space)
        self.limit = limit

    @property
    def is_readable(self) -> bool:
        """Whether terms can be compared by their letters; in an encrypted space they are hashes."""
        return self._cipher is None

    def look_up(self, key: SearchKey) -> KeyHits[int]:
        """The positions of the newest events that have a key."""
        terms = " ".join(key.terms)
        if self._cipher is not None:
            terms = self._cipher.terms(terms)
        # Terms have only letters and digits, so they contain no quote.
        match = " AND ".join(f'"{term}"{"*" if key.prefix else ""}' for term in terms.split())
        condition, arguments = self._condition()
        if self._agents is not None and len(self._agents) <= _MAX_AGENT_TERMS:
            match = f"({' OR '.join(map(self._agent_term, self._agents))}) AND {match}"
        rows = self._connection.execute(
            f"SELECT rowid FROM {self._table} WHERE {self._table} MATCH ?{condition}"
            " ORDER BY rowid DESC LIMIT ?",
            (match, *arguments, self.limit),
        ).fetchall()
        return KeyHits([position for (position,) in rows], self._count(rows))

    def _count(self, rows: list[tuple[int]]) -> float:
        """Estimates how many events there are, by the positions of the newest."""
        if len(rows) < self.limit:
            return len(rows)
        newest = indexed_position(self._connection)
        return len(rows) * newest / max(1, newest - rows[-1][0])

    def _agent_term(self, agent: AgentId) -> str:
        return f'"{_sealed(agent_term(agent), self._cipher)}"'

    def _condition(self) -> tuple[str, list[str | int]]:
        tests: list[str] = []
        arguments: list[str | int] = []
        if self._agents is not None and len(self._agents) > _MAX_AGENT_TERMS:
            tests.append("agent IN (SELECT value FROM json_each(?))")
            arguments.append(json.dumps(self._agents))
        if self._query.before:
            tests.append("at < ?")
            arguments.append(self._query.before)
        if self._query.after:
            tests.append("at >= ?")
            arguments.append(self._query.after)
        if not tests:
            return "", []
        where = " AND ".join((f"position = {self._table}.rowid", *tests))
        return f" AND EXISTS (SELECT 1 FROM events WHERE {where})", arguments

    def nearest(self) -> list[int]:
        """The positions of the events that are most like the question, with the extra `meaning`."""
        if not self.is_readable or not meaning.can_answer(self._query.question):
            return []
        return nearest_events(self._connection, self._space, self._query, self._agents)

    def event_count(self) -> int:
        """How many events the space has, or the agents that are searched."""
        if self._agents is None:
            return event_count(self._connection, self._space)
        (total,) = self._connection.execute(
            "SELECT coalesce(sum(version), 0) FROM agents"
            " WHERE space = ? AND agent IN (SELECT value FROM json_each(?))",
            (self._space, json.dumps(self._agents)),
        ).fetchone()
        return total

    def read(self, positions: Sequence[int]) -> list[CandidateEvent]:
        """The events at these positions, without those that were erased meanwhile."""
        rows: list[Row] = self._connection.execute(
            f"SELECT {ROW} FROM events WHERE position IN (SELECT value FROM json_each(?))",
            (json.dumps(positions),),
        ).fetchall()
        places = {position: place for place, position in enumerate(positions)}
        rows.sort(key=lambda row: places[row[0]])
        return [
            CandidateEvent(each, self._turn_of(each))
            for each in recorded_of(self._connection, self._space, rows)
        ]

    def _turn_of(self, recorded: Recorded) -> int:
        if recorded.kind not in IN_TURNS:
            return recorded.version
        row = self._connection.execute(
            "SELECT version FROM events WHERE space = ? AND agent = ? AND version < ?"
            " AND kind IN (?, ?) ORDER BY version DESC LIMIT 1",
            (self._space, recorded.agent, recorded.version, *TURN_STARTS),
        ).fetchone()
        return row[0] if row else recorded.version


def begin_rebuild(connection: Connection, space: Space) -> None:
    """Begins a new index of a space beside the old one, which contains words of erased events."""
    forget_meanings(connection, space)
    connection.execute(
        "INSERT INTO word_rebuilds (space, number, position)"
        " SELECT space, 1000 + max((SELECT max(number) FROM spaces),"
        " (SELECT coalesce(max(number), 0) FROM word_rebuilds)), 0 FROM spaces WHERE space = ?"
        " ON CONFLICT (space) DO UPDATE SET position = 0",
        (space,),
    )


def rebuild_page(connection: Connection, space: Space) -> bool:
    """Adds a page of events to the new index of a space; at the end, replaces the old index.

    Returns whether there is more to do.
    """
    row = connection.execute(
        "SELECT number, position FROM word_rebuilds WHERE space = ?", (space,)
    ).fetchone()
    if row is None:
        return False
    number, position = row
    table = f"words_{number}"
    if position == 0:
        connection.execute(f"DROP TABLE IF EXISTS {table}")
        connection.execute(_CREATE.format(table=table))
    rows: list[Row] = connection.execute(
        f"SELECT {ROW} FROM events NOT INDEXED WHERE space = ? AND position > ?"
        " AND position <= (SELECT position FROM indexed) ORDER BY position LIMIT ?",
        (space, position, _MAX_EVENTS),
    ).fetchall()
    words = [(each[0], _terms_of_row(connection, each)) for each in rows]
    connection.executemany(
        f"INSERT INTO {table} (rowid, terms) VALUES (?, ?)", [each for each in words if each[1]]
    )
    if len(rows) == _MAX_EVENTS:
        connection.execute(
            "UPDATE word_rebuilds SET position = ? WHERE space = ?", (rows[-1][0], space)
        )
        return True
    if old := _table(connection, space):
        connection.execute(f"DROP TABLE {old}")
    connection.execute("UPDATE spaces SET number = ? WHERE space = ?", (number, space))
    connection.execute("DELETE FROM word_rebuilds WHERE space = ?", (space,))
    return False


def _terms_of_row(connection: Connection, row: Row) -> str:
    (recorded,) = recorded_of(connection, Space(row[1]), [row])
    terms = index_terms(event_texts(recorded.event).search)
    if not terms:
        return ""
    terms.append(agent_term(recorded.agent))
    return _sealed(" ".join(terms), cipher_of(connection, Space(row[1])))


def _sealed(terms: str, cipher: SpaceCipher | None) -> str:
    return terms if cipher is None else cipher.terms(terms)


def needs_rebuild(connection: Connection, space: Space) -> bool:
    """Whether the index of a space has to be made again."""
    row = connection.execute("SELECT 1 FROM word_rebuilds WHERE space = ?", (space,)).fetchone()
    return row is not None


def _table(connection: Connection, space: Space) -> str | None:
    row = connection.execute("SELECT number FROM spaces WHERE space = ?", (space,)).fetchone()
    return f"words_{row[0]}" if row else None


def _create_table(connection: Connection, space: Space) -> str:
    (number,) = connection.execute(
        "SELECT 1 + max((SELECT coalesce(max(number), 0) FROM spaces),"
        " (SELECT coalesce(max(number), 0) FROM word_rebuilds))"
    ).fetchone()
    connection.execute("INSERT INTO spaces (number, space) VALUES (?, ?)", (number, space))
    table = f"words_{number}"
    connection.execute(_CREATE.format(table=table))
    return table


class SqliteIndexer:
    """Adds new events to the word index. Use it only on the event loop that created it."""

    def __init__(self, readers: SqliteReaderPool, writer: Writer) -> None:
        self._readers = readers
        self._writer = writer
        self._loop = asyncio.get_running_loop()
        self._batch_lock = asyncio.Lock()
        self._last_commit = self._loop.time()
        self._begin = self._last_commit + _COMMAND_SECONDS
        self._task: asyncio.Task[None] | None = None
        self._closed = False
        self.schedule()

    def schedule(self) -> None:
        """Call this after a commit: the new events are indexed once no commits arrive."""
        self._last_commit = self._loop.time()
        if self._task is None and not self._closed:
            self._task = self._loop.create_task(self._index_when_idle())

    async def catch_up(self) -> None:
        """Adds everything to the index that was committed before this call.

        Raises `LogError` if the database fails.
        """
        end = await self._readers.run(last_position)
        while await self._readers.run(indexed_position) < end:
            await self._add_batch()

    async def finish_rebuild(self, space: Space) -> None:
        """Makes the index of an encrypted space again, if a program without its key skipped it."""
        if await self._readers.run(lambda on: needs_rebuild(on, space)):
            while await self._writer.run(lambda on: rebuild_page(on, space), in_thread=True):
                pass

    async def close(self) -> None:
        """Stops the task. The next indexer continues at the same position."""
        self._closed = True
        if self._task:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _add_batch(self) -> bool:
        """Adds one batch and returns true, or returns false if nothing is missing."""
        async with self._batch_lock:
            batch = await self._readers.run(next_words)
            if batch.last == batch.after:
                return False
            await self._writer.run(lambda on: _insert_and_count(on, batch), durable=False)
            return True

    async def _wait_while_busy(self) -> None:
        """Waits while this process works: a command that imports and ends must not pay for it.

        On a busy machine a process that works looks idle, so a new one waits in any case.
        """
        await asyncio.sleep(max(0.0, self._begin - self._loop.time()))
        for _ in range(_MAX_WAITS):
            used = process_time()
            await asyncio.sleep(_IDLE_SECONDS)
            if process_time() - used < _BUSY * _IDLE_SECONDS:
                break

    async def _index_when_idle(self) -> None:
        try:
            # No caller waits for this task. The next search meets the same error and raises it.
            with suppress(LogError):
                await self._wait_while_busy()
                more = True
                while more:
                    idle = self._loop.time() - self._last_commit
                    if idle < _IDLE_SECONDS:
                        await asyncio.sleep(_IDLE_SECONDS - idle)
                    else:
                        commit_before = self._last_commit
                        more = await self._add_batch() or self._last_commit != commit_before
        finally:
            self._task = None
