"""Reading events, with the long texts put back in."""

import json
import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache

from sapwood.core.events import SYSTEM, Actor, Recorded
from sapwood.core.events.codec import decode, unreadable
from sapwood.core.ids import AgentId, CommandId, Space
from sapwood.core.log import Cursor, Tailed

__all__ = [
    "Row",
    "last_position",
    "origins_after",
    "read_after",
    "read_all_after",
    "read_all_before",
    "read_part",
    "recorded_of",
]

Row = tuple[int, Space, AgentId, int, str, str, str | None, int, str, CommandId]
"""Where an event stands and what it is: position, space, agent, and the columns of `_Event`."""

_Event = tuple[int, str, str, str | None, int, str, CommandId]
_EVENT = "version, kind, data, contents, at, actor, command"
_COLUMNS = f"position, space, agent, {_EVENT}"
_ALL = 2**62


def read_part(
    connection: sqlite3.Connection,
    space: Space,
    agent: AgentId,
    first: int,
    last: int | None,
    limit: int | None,
    backward: bool,
) -> list[Recorded]:
    """A part of one agent's log."""
    rows: list[_Event] = connection.execute(
        f"SELECT {_EVENT} FROM events WHERE space = ? AND agent = ? AND version BETWEEN ? AND ?"
        f" ORDER BY version {'DESC' if backward else 'ASC'} LIMIT ?",
        (space, agent, first, _ALL if last is None else last, _ALL if limit is None else limit),
    ).fetchall()
    texts = _contents(connection, space, [row[3] for row in rows])
    return [_recorded(agent, row, texts) for row in rows]


def read_after(
    connection: sqlite3.Connection, space: Space, position: int, limit: int
) -> list[Tailed]:
    """The next events of a space, in the order of commits."""
    # By position: the index would find all events of the space, then sort them.
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM events NOT INDEXED WHERE space = ? AND position > ?"
        " ORDER BY position LIMIT ?",
        (space, position, limit),
    ).fetchall()
    events = recorded_of(connection, space, rows)
    return [Tailed(Cursor(0, row[0]), event) for row, event in zip(rows, events, strict=True)]


def read_all_after(connection: sqlite3.Connection, position: int, limit: int) -> list[Row]:
    """The next events of all spaces, undecoded; for what serves every space alike."""
    return connection.execute(
        f"SELECT {_COLUMNS} FROM events WHERE position > ? ORDER BY position LIMIT ?",
        (position, limit),
    ).fetchall()


def read_all_before(connection: sqlite3.Connection, position: int, limit: int) -> list[Row]:
    """The events of all spaces before a position, the newest first, undecoded."""
    return connection.execute(
        f"SELECT {_COLUMNS} FROM events WHERE position < ? ORDER BY position DESC LIMIT ?",
        (position, limit),
    ).fetchall()


def last_position(connection: sqlite3.Connection) -> int:
    """Where the log ends now."""
    (position,) = connection.execute("SELECT max(position) FROM events").fetchone()
    return position or 0


def origins_after(
    connection: sqlite3.Connection, position: int
) -> list[tuple[Space, AgentId, int]]:
    """Whose events came after a position, and each one's last, in that order."""
    return connection.execute(
        "SELECT space, agent, max(position) AS last FROM events NOT INDEXED WHERE position > ?"
        " GROUP BY space, agent ORDER BY last",
        (position,),
    ).fetchall()


def recorded_of(
    connection: sqlite3.Connection, space: Space, rows: Sequence[Row]
) -> list[Recorded]:
    """Rows of one space as events."""
    texts = _contents(connection, space, [row[6] for row in rows])
    return [_recorded(row[2], row[3:], texts) for row in rows]


def _contents(
    connection: sqlite3.Connection, space: Space, columns: Sequence[str | None]
) -> dict[str, str]:
    """The texts whose hashes stand in these columns."""
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
        with suppress(UnicodeDecodeError):  # what is damaged is as good as missing
            texts[digest] = data.decode()
    return texts


def _recorded(agent: AgentId, row: _Event, texts: dict[str, str]) -> Recorded:
    version, kind, data, contents, at, actor, command = row
    event = decode(kind, data, texts if contents else None)
    who = _actor(actor)
    if who is None:
        event, who = unreadable(kind, data, "it is not known who did it"), SYSTEM
    return Recorded(agent, version, event, at, who, command)


@lru_cache(maxsize=256)
def _actor(text: str) -> Actor | None:
    try:
        return Actor.parse(text)
    except ValueError:
        return None
