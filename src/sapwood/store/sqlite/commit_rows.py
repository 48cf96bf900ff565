"""Stores a commit. `rows_of` encodes it first, so that the writer's thread only writes."""

from collections.abc import Iterator
from sqlite3 import Connection

import msgspec
from msgspec import Struct

from sapwood.core.ids import AgentId, CommandId, EventRef, Space
from sapwood.core.log_values import AgentSummary, Commit, Receipt, VersionConflict
from sapwood.store.space_cipher import (
    SpaceCipher,
    encode_event,
    open_receipt,
    seal_content,
    seal_receipt,
    seal_summary,
)
from sapwood.store.sqlite.agent_table import advance_agent, insert_agent
from sapwood.store.sqlite.event_table import delete_words
from sapwood.store.sqlite.key_table import cipher_of, require_cipher

_Event = tuple[Space, AgentId, int, str, str, str | None, int, str, CommandId]
_Content = tuple[Space, str, bytes]
_Receipt = tuple[Space, CommandId, str, str, str]
_INSERT_RECEIPT = (
    "INSERT INTO receipts (space, command, says, events, digest) VALUES (?, ?, ?, ?, ?)"
)


class CommitRows(Struct, frozen=True):
    """A commit, encoded as rows of the tables."""

    space: Space
    cipher: SpaceCipher | None
    commit: Commit
    summaries: list[AgentSummary]
    events: list[_Event]
    contents: dict[str, _Content]
    receipts: list[_Receipt]


def rows_of(space: Space, commit: Commit, cipher: SpaceCipher | None = None) -> CommitRows:
    """Encodes a commit."""
    contents: dict[str, _Content] = {}
    events = list(_events(space, commit, contents, cipher))
    receipts = [
        (
            *(space, receipt.command, receipt.message),
            *(msgspec.json.encode(receipt.events).decode(), receipt.digest),
        )
        for receipt in (seal_receipt(cipher, each) for each in commit.receipts)
    ]
    summaries = [seal_summary(cipher, append.summary) for append in commit.appends]
    return CommitRows(space, cipher, commit, summaries, events, contents, receipts)


def store(connection: Connection, rows: CommitRows) -> Receipt | None:
    """Stores a commit within the caller's transaction and returns None.

    Returns the earlier receipt, and stores nothing, if one of the commands was stored before.
    Raises `VersionConflict` if an agent is not at its expected version or has other words than
    those that end, and `KeyChanged` if the space has another key than the one that encoded the
    commit.
    """
    require_cipher(connection, rows.space, rows.cipher, rows.commit.appends)
    if earlier := _insert_receipts(connection, rows):
        return earlier
    for append, summary in zip(rows.commit.appends, rows.summaries, strict=True):
        change = advance_agent if append.expected else insert_agent
        if not change(connection, rows.space, append.expected, summary):
            raise VersionConflict(append.agent, append.expected)
        if append.ends_words and not delete_words(
            connection, rows.space, append.agent, append.words
        ):
            raise VersionConflict(append.agent, append.expected)
    if rows.contents:
        _insert_contents(connection, rows)
    _insert_events(connection, rows)
    return None


def find_receipt(connection: Connection, space: Space, command: CommandId) -> Receipt | None:
    """The stored receipt of a command."""
    row = connection.execute(
        "SELECT says, events, digest FROM receipts WHERE space = ? AND command = ?",
        (space, command),
    ).fetchone()
    if row is None:
        return None
    events = msgspec.json.decode(row[1], type=tuple[EventRef, ...])
    receipt = Receipt(command, row[0], events, row[2])
    return open_receipt(cipher_of(connection, space), receipt)


def _insert_receipts(connection: Connection, rows: CommitRows) -> Receipt | None:
    """Inserts all receipts, or inserts none and returns the stored receipt of one of them."""
    first, *others = rows.receipts
    for receipt in others:
        if earlier := find_receipt(connection, rows.space, receipt[1]):
            return earlier
    inserted = connection.execute(f"{_INSERT_RECEIPT} ON CONFLICT DO NOTHING", first)
    if inserted.rowcount != 1:
        return find_receipt(connection, rows.space, first[1])
    if others:
        connection.executemany(_INSERT_RECEIPT, others)
    return None


def _insert_contents(connection: Connection, rows: CommitRows) -> None:
    connection.executemany(
        "INSERT INTO contents SELECT ?1, ?2, ?3"
        " WHERE NOT EXISTS (SELECT 1 FROM contents WHERE space = ?1 AND hash = ?2)",
        rows.contents.values(),
    )


def _insert_events(connection: Connection, rows: CommitRows) -> None:
    connection.executemany(
        "INSERT INTO events (space, agent, version, kind, data, contents, at, actor, command)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        rows.events,
    )


def _events(
    space: Space, commit: Commit, contents: dict[str, _Content], cipher: SpaceCipher | None
) -> Iterator[_Event]:
    for append in commit.appends:
        for recorded in append.events:
            encoded = encode_event(cipher, recorded)
            if encoded.contents:
                for digest, text in encoded.contents.items():
                    contents[digest] = (space, digest, seal_content(cipher, digest, text))
            yield (
                space,
                recorded.agent,
                recorded.version,
                encoded.kind,
                encoded.data,
                " ".join(encoded.contents) if encoded.contents else None,
                recorded.at,
                str(recorded.actor),
                recorded.command,
            )
