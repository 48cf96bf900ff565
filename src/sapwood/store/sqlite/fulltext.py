"""Full-text search: one FTS5 table for each space, and the task that fills them.

A commit never waits for the index. A background task adds words while nothing is being written,
and a search first adds what is missing. Reader threads extract the words; the writer only inserts
them, in batches small enough not to delay a commit.
"""

import asyncio
import json
import sqlite3
from collections.abc import Sequence
from contextlib import suppress

from msgspec import Struct

from sapwood.core.errors import KeyMissing
from sapwood.core.event_texts import event_texts
from sapwood.core.ids import AgentId, Space
from sapwood.core.log_values import LogError, SearchHit
from sapwood.core.search_text import index_terms, query_phrases, snippet_of
from sapwood.store.sqlite.connections import ReaderPool
from sapwood.store.sqlite.cursor_places import count_page
from sapwood.store.sqlite.event_table import (
    ROW,
    Row,
    last_position,
    read_all_after,
    recorded_of,
)
from sapwood.store.sqlite.key_table import cipher_of
from sapwood.store.sqlite.writer import Writer

_MAX_EVENTS = 200
_MAX_CHARACTERS = 200_000
_IDLE_SECONDS = 0.5
# Without content: the events have the words already. No entry is ever deleted; after an erasure
# the whole index is made again.
_CREATE = "CREATE VIRTUAL TABLE {table} USING fts5(terms, content='', tokenize='porter ascii')"


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


def indexed_position(connection: sqlite3.Connection) -> int:
    """The position of the last event in the index."""
    (position,) = connection.execute("SELECT position FROM indexed").fetchone()
    return position


def next_words(connection: sqlite3.Connection) -> WordBatch:
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


def insert_words(connection: sqlite3.Connection, batch: WordBatch) -> None:
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


def _insert_and_count(connection: sqlite3.Connection, batch: WordBatch) -> None:
    """Adds a batch to the index. Also counts events for cursors, which needs no other moment."""
    insert_words(connection, batch)
    count_page(connection)


def search_words(
    connection: sqlite3.Connection,
    space: Space,
    query: str,
    agents: Sequence[AgentId] | None,
    limit: int,
    offset: int,
) -> list[SearchHit]:
    """A page of the events that contain every phrase of the query, best match first."""
    table = _table(connection, space)
    phrases = query_phrases(query)
    if cipher := cipher_of(connection, space):
        phrases = cipher.phrases(phrases)
    if table is None or not phrases:
        return []
    found = connection.execute(
        f"SELECT rowid, bm25({table}) AS rank FROM {table} WHERE {table} MATCH ?"
        + _agents_condition(table, agents)
        + " ORDER BY rank, rowid DESC LIMIT ? OFFSET ?",
        # Terms have only letters and digits, so a phrase contains no quote.
        (
            " AND ".join(f'"{" ".join(phrase)}"' for phrase in phrases),
            *([] if agents is None else [json.dumps(agents)]),
            limit,
            offset,
        ),
    ).fetchall()
    return _hits(connection, space, query, found)


def _agents_condition(table: str, agents: Sequence[AgentId] | None) -> str:
    if agents is None:
        return ""
    return (
        f" AND (SELECT agent FROM events WHERE position = {table}.rowid)"
        " IN (SELECT value FROM json_each(?))"
    )


def _hits(
    connection: sqlite3.Connection, space: Space, query: str, found: list[tuple[int, float]]
) -> list[SearchHit]:
    hits: list[SearchHit] = []
    for position, rank in found:
        row = next(iter(read_all_after(connection, position - 1, 1)), None)
        if row is None or row[0] != position:
            continue  # erased; its words go when the index was made again
        (recorded,) = recorded_of(connection, space, [row])
        snippet = snippet_of(event_texts(recorded.event).search, query)
        # A lower bm25 is a better match.
        hits.append(SearchHit(recorded.ref, recorded.kind, recorded.at, snippet, -rank))
    return hits


def begin_rebuild(connection: sqlite3.Connection, space: Space) -> None:
    """Begins a new index of a space beside the old one, which contains words of erased events."""
    connection.execute(
        "INSERT INTO word_rebuilds (space, number, position)"
        " SELECT space, 1000 + max((SELECT max(number) FROM spaces),"
        " (SELECT coalesce(max(number), 0) FROM word_rebuilds)), 0 FROM spaces WHERE space = ?"
        " ON CONFLICT (space) DO UPDATE SET position = 0",
        (space,),
    )


def rebuild_page(connection: sqlite3.Connection, space: Space) -> bool:
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


def _terms_of_row(connection: sqlite3.Connection, row: Row) -> str:
    (recorded,) = recorded_of(connection, Space(row[1]), [row])
    # Line by line, because one call for a huge text would block every other thread.
    terms = " ".join(map(index_terms, event_texts(recorded.event).search.split("\n"))).strip()
    cipher = cipher_of(connection, Space(row[1]))
    return terms if cipher is None else cipher.terms(terms)


def needs_rebuild(connection: sqlite3.Connection, space: Space) -> bool:
    """Whether the index of a space has to be made again."""
    row = connection.execute("SELECT 1 FROM word_rebuilds WHERE space = ?", (space,)).fetchone()
    return row is not None


def _table(connection: sqlite3.Connection, space: Space) -> str | None:
    row = connection.execute("SELECT number FROM spaces WHERE space = ?", (space,)).fetchone()
    return f"words_{row[0]}" if row else None


def _create_table(connection: sqlite3.Connection, space: Space) -> str:
    (number,) = connection.execute(
        "SELECT 1 + max((SELECT coalesce(max(number), 0) FROM spaces),"
        " (SELECT coalesce(max(number), 0) FROM word_rebuilds))"
    ).fetchone()
    connection.execute("INSERT INTO spaces (number, space) VALUES (?, ?)", (number, space))
    table = f"words_{number}"
    connection.execute(_CREATE.format(table=table))
    return table


class FulltextIndexer:
    """Adds new events to the word index. Use it only on the event loop that created it."""

    def __init__(self, readers: ReaderPool, writer: Writer) -> None:
        self._readers = readers
        self._writer = writer
        self._loop = asyncio.get_running_loop()
        self._batch_lock = asyncio.Lock()
        self._last_commit = self._loop.time()
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

    async def _index_when_idle(self) -> None:
        try:
            # No caller waits for this task. The next search meets the same error and raises it.
            with suppress(LogError):
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
