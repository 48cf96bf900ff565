"""Storing a commit. It is taken apart into rows first, so that the writer only writes."""

import sqlite3
from collections.abc import Iterator

import msgspec
from msgspec import Struct

from sapwood.core.events.codec import encode
from sapwood.core.ids import AgentId, CommandId, EventRef, Space
from sapwood.core.log import Commit, Receipt, VersionConflict
from sapwood.store.sqlite.agents import advance_agent, insert_agent

__all__ = ["Rows", "find_receipt", "rows_of", "store"]

_Event = tuple[Space, AgentId, int, str, str, str | None, int, str, CommandId]
_Content = tuple[Space, str, bytes]


class Rows(Struct, frozen=True):
    """A commit as rows."""

    space: Space
    commit: Commit
    events: list[_Event]
    contents: dict[str, _Content]
    refs: str


def rows_of(space: Space, commit: Commit) -> Rows:
    """The commit as rows."""
    contents: dict[str, _Content] = {}
    events = list(_events(space, commit, contents))
    refs = msgspec.json.encode(commit.receipt.events).decode()
    return Rows(space, commit, events, contents, refs)


def store(connection: sqlite3.Connection, rows: Rows) -> Receipt | None:
    """Stores a commit within a transaction, or returns the earlier receipt of its command."""
    if not _insert_receipt(connection, rows):
        return find_receipt(connection, rows.space, rows.commit.receipt.command)
    for append in rows.commit.appends:
        change = advance_agent if append.expected else insert_agent
        if not change(connection, rows.space, append.expected, append.facts):
            raise VersionConflict(append.agent, append.expected)
    if rows.contents:
        _insert_contents(connection, rows)
    _insert_events(connection, rows)
    return None


def find_receipt(
    connection: sqlite3.Connection, space: Space, command: CommandId
) -> Receipt | None:
    """The first answer to a command."""
    row = connection.execute(
        "SELECT says, events FROM receipts WHERE space = ? AND command = ?", (space, command)
    ).fetchone()
    if row is None:
        return None
    return Receipt(command, row[0], msgspec.json.decode(row[1], type=tuple[EventRef, ...]))


def _insert_receipt(connection: sqlite3.Connection, rows: Rows) -> bool:
    receipt = rows.commit.receipt
    inserted = connection.execute(
        "INSERT INTO receipts VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
        (rows.space, receipt.command, receipt.says, rows.refs),
    )
    return inserted.rowcount == 1


def _insert_contents(connection: sqlite3.Connection, rows: Rows) -> None:
    connection.executemany(
        "INSERT INTO contents SELECT ?1, ?2, ?3"
        " WHERE NOT EXISTS (SELECT 1 FROM contents WHERE space = ?1 AND hash = ?2)",
        rows.contents.values(),
    )


def _insert_events(connection: sqlite3.Connection, rows: Rows) -> None:
    connection.executemany(
        "INSERT INTO events (space, agent, version, kind, data, contents, at, actor, command)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        rows.events,
    )


def _events(space: Space, commit: Commit, contents: dict[str, _Content]) -> Iterator[_Event]:
    for append in commit.appends:
        for recorded in append.events:
            encoded = encode(recorded.event)
            for digest, text in encoded.contents.items():
                contents[digest] = (space, digest, text.encode())
            yield (
                space,
                recorded.agent,
                recorded.version,
                encoded.kind,
                encoded.data,
                " ".join(encoded.contents) or None,
                recorded.at,
                str(recorded.actor),
                recorded.command,
            )
