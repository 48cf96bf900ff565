"""Statements that read events, with their long texts put back, and those for snapshots.

Statements about the words of replies that are still arriving.
"""

import json
from collections.abc import Sequence
from sqlite3 import Connection

from sapwood.core.events import Recorded, WordsErased
from sapwood.core.ids import AgentId, CommandId, Space
from sapwood.core.live_words import LiveWords
from sapwood.core.log_values import Snapshot, steps_with_gaps
from sapwood.store.space_cipher import (
    SpaceCipher,
    decode_event,
    open_content,
    open_live_words,
    open_snapshot,
    seal_live_words,
    seal_snapshot,
)
from sapwood.store.sqlite.key_table import cipher_of

Row = tuple[int, Space, AgentId, int, str, str, str | None, int, str, CommandId]
"""Position, space, agent, and the columns of `_Event`."""

_Event = tuple[int, str, str, str | None, int, str, CommandId]
_EVENT = "version, kind, data, contents, at, actor, command"
ROW = f"position, space, agent, {_EVENT}"
"""The columns of a `Row`."""
_NO_LIMIT = 2**62


def read_part(
    connection: Connection,
    space: Space,
    agent: AgentId,
    first: int = 1,
    last: int | None = None,
    *,
    limit: int | None = None,
    backward: bool = False,
) -> list[Recorded]:
    """Events of one agent from version `first` to `last`, newest first if `backward`."""
    rows: list[_Event] = connection.execute(
        f"SELECT {_EVENT} FROM events WHERE space = ? AND agent = ? AND version BETWEEN ? AND ?"
        f" ORDER BY version {'DESC' if backward else 'ASC'} LIMIT ?",
        (
            space,
            agent,
            first,
            _NO_LIMIT if last is None else last,
            _NO_LIMIT if limit is None else limit,
        ),
    ).fetchall()
    cipher = cipher_of(connection, space)
    texts = _contents(connection, space, [row[3] for row in rows], cipher)
    return [_recorded(space, agent, row, texts, cipher) for row in rows]


def read_after(
    connection: Connection, space: Space, position: int, limit: int
) -> list[tuple[int, int, Recorded]]:
    """The next events of a space after a position, in commit order, each with its position.

    Before it stands by how much the event raises the count of a cursor: one, and the number of
    erased events before it.
    """
    # NOT INDEXED walks by position. The index would find all events of the space and sort them.
    rows = connection.execute(
        f"SELECT {ROW} FROM events NOT INDEXED WHERE space = ? AND position > ?"
        " ORDER BY position LIMIT ?",
        (space, position, limit),
    ).fetchall()
    if not rows:
        return []
    gaps = connection.execute(
        "SELECT position FROM gaps WHERE space = ? AND position > ? AND position < ?"
        " ORDER BY position",
        (space, position, rows[-1][0]),
    ).fetchall()
    places = [row[0] for row in rows]
    counts = steps_with_gaps(places, [gap for (gap,) in gaps])
    return list(zip(counts, places, recorded_of(connection, space, rows), strict=True))


def read_all_after(connection: Connection, position: int, limit: int) -> list[Row]:
    """The next rows of all spaces after a position, not decoded."""
    return connection.execute(
        f"SELECT {ROW} FROM events WHERE position > ? ORDER BY position LIMIT ?",
        (position, limit),
    ).fetchall()


def read_all_before(connection: Connection, position: int, limit: int) -> list[Row]:
    """The rows of all spaces before a position, newest first, not decoded."""
    return connection.execute(
        f"SELECT {ROW} FROM events WHERE position < ? ORDER BY position DESC LIMIT ?",
        (position, limit),
    ).fetchall()


def last_position(connection: Connection) -> int:
    """The position of the newest event, or 0 if there is none."""
    (position,) = connection.execute("SELECT max(position) FROM events").fetchone()
    return position or 0


def origins_after(connection: Connection, position: int) -> list[tuple[Space, AgentId, int]]:
    """The agents with events after a position, each with its last position, in that order."""
    return connection.execute(
        "SELECT space, agent, max(position) AS last FROM events NOT INDEXED WHERE position > ?"
        " GROUP BY space, agent ORDER BY last",
        (position,),
    ).fetchall()


def recorded_of(connection: Connection, space: Space, rows: Sequence[Row]) -> list[Recorded]:
    """Decodes rows of one space."""
    cipher = cipher_of(connection, space)
    texts = _contents(connection, space, [row[6] for row in rows], cipher)
    return [_recorded(space, row[2], row[3:], texts, cipher) for row in rows]


def _contents(
    connection: Connection,
    space: Space,
    columns: Sequence[str | None],
    cipher: SpaceCipher | None,
) -> dict[str, str]:
    """The long texts named by these `contents` columns, by their hash."""
    hashes = {digest for column in columns if column for digest in column.split()}
    if not hashes:
        return {}
    found = connection.execute(
        "SELECT hash, data FROM contents"
        " WHERE space = ? AND hash IN (SELECT value FROM json_each(?))",
        (space, json.dumps(list(hashes))),
    )
    texts: dict[str, str] = {}
    for digest, data in found:
        text = open_content(cipher, digest, data)
        if text is not None:  # a damaged text is handled like a missing one
            texts[digest] = text
    return texts


def _recorded(
    space: Space,
    agent: AgentId,
    row: _Event,
    texts: dict[str, str],
    cipher: SpaceCipher | None,
) -> Recorded:
    version, kind, data, contents, at, actor, command = row
    place = (agent, version, kind, at, actor, command)
    return decode_event(cipher, space, place, data, texts if contents else None)


def insert_snapshot(connection: Connection, space: Space, snapshot: Snapshot) -> None:
    """Stores a snapshot, unless one of the same agent, schema and version exists.

    Stores nothing if there is no such agent, or if words of another one were erased after it: then
    the snapshot may have them.
    """
    snapshot = seal_snapshot(cipher_of(connection, space), snapshot)
    connection.execute(
        "INSERT INTO snapshots SELECT ?1, ?2, ?3, ?4, ?5 WHERE EXISTS"
        " (SELECT 1 FROM agents WHERE space = ?1 AND agent = ?2) AND NOT EXISTS"
        " (SELECT 1 FROM events WHERE space = ?1 AND agent = ?2 AND version > ?4 AND kind = ?6)"
        " ON CONFLICT DO NOTHING",
        (
            *(space, snapshot.agent, snapshot.schema, snapshot.version, snapshot.data),
            WordsErased.kind,
        ),
    )


def find_snapshot(
    connection: Connection,
    space: Space,
    agent: AgentId,
    schema: str,
    at: int | None = None,
) -> Snapshot | None:
    """The newest snapshot of this schema, at or before version `at` if given."""
    row = connection.execute(
        "SELECT version, data FROM snapshots WHERE space = ? AND agent = ? AND schema = ?"
        " AND version <= ? ORDER BY version DESC LIMIT 1",
        (space, agent, schema, 2**62 if at is None else at),
    ).fetchone()
    if row is None:
        return None
    return open_snapshot(cipher_of(connection, space), Snapshot(agent, row[0], schema, row[1]))


def save_words(
    connection: Connection,
    space: Space,
    agent: AgentId,
    version: int,
    words: LiveWords,
    before: CommandId | None,
) -> bool:
    """Replaces the words of an agent. Returns false if they or the agent have changed since."""
    data = seal_live_words(cipher_of(connection, space), agent, words)
    if before is not None:
        replaced = connection.execute(
            "UPDATE live_words SET command = ?, data = ?"
            " WHERE space = ? AND agent = ? AND asked = ? AND command = ?",
            (words.command, data, space, agent, words.asked, before),
        )
    else:
        replaced = connection.execute(
            "INSERT INTO live_words (space, agent, asked, command, data)"
            " SELECT ?1, ?2, ?3, ?4, ?5 FROM agents"
            " WHERE space = ?1 AND agent = ?2 AND version = ?6"
            " ON CONFLICT (space, agent) DO UPDATE SET asked = excluded.asked,"
            " command = excluded.command, data = excluded.data"
            " WHERE live_words.asked < excluded.asked",
            (space, agent, words.asked, words.command, data, version),
        )
    return replaced.rowcount == 1


def find_words(connection: Connection, space: Space, agent: AgentId) -> LiveWords | None:
    """The words of an agent."""
    row = connection.execute(
        "SELECT asked, command, data FROM live_words WHERE space = ? AND agent = ?", (space, agent)
    ).fetchone()
    return open_live_words(cipher_of(connection, space), agent, *row) if row else None


def delete_words(
    connection: Connection, space: Space, agent: AgentId, last: CommandId | None
) -> bool:
    """Deletes the words of an agent.

    Returns false if `last` is given and is not the command of the last words; '' is for no words.
    """
    row = connection.execute(
        "DELETE FROM live_words WHERE space = ? AND agent = ? RETURNING command", (space, agent)
    ).fetchone()
    return last is None or (row[0] if row else "") == last


def last_words(connection: Connection) -> dict[tuple[Space, AgentId], CommandId]:
    """The command of the last words of each agent whose reply is arriving."""
    rows = connection.execute("SELECT space, agent, command FROM live_words")
    return {(Space(space), AgentId(agent)): CommandId(command) for space, agent, command in rows}
