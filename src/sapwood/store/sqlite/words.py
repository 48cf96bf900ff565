"""The word index: one full-text table a space, and how far they have come."""

import json
import sqlite3
from collections.abc import Sequence

from msgspec import Struct

from sapwood.core.ids import AgentId, Space
from sapwood.core.log import Hit
from sapwood.core.searching import index_terms, query_phrases, snippet_of, text_of
from sapwood.store.sqlite.events import Row, read_all_after, recorded_of

__all__ = ["Batch", "find_words", "indexed_position", "insert_words", "next_words"]

_EVENTS = 200
_CHARACTERS = 200_000


class Batch(Struct, frozen=True):
    """Words of some events in a row: those after position `after`, up to and including `last`."""

    after: int
    last: int
    words: dict[Space, list[tuple[int, str]]]


def indexed_position(connection: sqlite3.Connection) -> int:
    """Everything up to here is in the index."""
    (position,) = connection.execute("SELECT position FROM indexed").fetchone()
    return position


def next_words(connection: sqlite3.Connection) -> Batch:
    """The words that the index needs next, not so many that writing them takes long."""
    after = indexed_position(connection)
    last, words, characters = after, dict[Space, list[tuple[int, str]]](), 0
    for row in read_all_after(connection, after, _EVENTS):
        last = row[0]
        terms = _terms(connection, row)
        if terms:
            words.setdefault(Space(row[1]), []).append((last, terms))
        characters += len(terms)
        if characters > _CHARACTERS:
            break
    return Batch(after, last, words)


def insert_words(connection: sqlite3.Connection, batch: Batch) -> None:
    """Adds a batch, unless another process was faster."""
    moved = connection.execute(
        "UPDATE indexed SET position = ? WHERE position = ?", (batch.last, batch.after)
    )
    if moved.rowcount != 1:
        return
    for space, words in batch.words.items():
        table = _table(connection, space) or _create_table(connection, space)
        connection.executemany(f"INSERT INTO {table} (rowid, terms) VALUES (?, ?)", words)


def find_words(
    connection: sqlite3.Connection,
    space: Space,
    query: str,
    agents: Sequence[AgentId] | None,
    limit: int,
    offset: int,
) -> list[Hit]:
    """A page of the events in which every phrase of the query stands, best first."""
    table = _table(connection, space)
    phrases = query_phrases(query)
    if table is None or not phrases:
        return []
    found = connection.execute(
        f"SELECT rowid, bm25({table}) AS rank FROM {table} WHERE {table} MATCH ?"
        + _held_to(table, agents)
        + " ORDER BY rank, rowid DESC LIMIT ? OFFSET ?",
        # Terms are letters and digits only, so quotes around a phrase hold.
        (
            " AND ".join(f'"{" ".join(phrase)}"' for phrase in phrases),
            *([] if agents is None else [json.dumps(agents)]),
            limit,
            offset,
        ),
    ).fetchall()
    return _hits(connection, space, query, found)


def _held_to(table: str, agents: Sequence[AgentId] | None) -> str:
    if agents is None:
        return ""
    return (
        f" AND (SELECT agent FROM events WHERE position = {table}.rowid)"
        " IN (SELECT value FROM json_each(?))"
    )


def _hits(
    connection: sqlite3.Connection, space: Space, query: str, found: list[tuple[int, float]]
) -> list[Hit]:
    hits: list[Hit] = []
    for position, rank in found:
        (row,) = read_all_after(connection, position - 1, 1)
        (recorded,) = recorded_of(connection, space, [row])
        snippet = snippet_of(text_of(recorded.event), query)
        # bm25 is the lower the better.
        hits.append(Hit(recorded.ref, recorded.kind, recorded.at, snippet, -rank))
    return hits


def _terms(connection: sqlite3.Connection, row: Row) -> str:
    (recorded,) = recorded_of(connection, Space(row[1]), [row])
    # Line by line, because cutting a huge text at once would hold up every other thread.
    return " ".join(map(index_terms, text_of(recorded.event).split("\n"))).strip()


def _table(connection: sqlite3.Connection, space: Space) -> str | None:
    row = connection.execute("SELECT number FROM spaces WHERE space = ?", (space,)).fetchone()
    return f"words_{row[0]}" if row else None


def _create_table(connection: sqlite3.Connection, space: Space) -> str:
    made = connection.execute("INSERT INTO spaces (space) VALUES (?)", (space,))
    table = f"words_{made.lastrowid}"
    # No content: the words are in the events already, and nothing is ever taken out.
    connection.execute(
        f"CREATE VIRTUAL TABLE {table} USING fts5(terms, content='', tokenize='porter ascii')"
    )
    return table
