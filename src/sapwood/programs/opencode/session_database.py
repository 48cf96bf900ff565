"""Reads opencode's database: `opencode.db`, SQLite, in its home. Nothing here writes to it.

The table `event` is a log of each session, from which opencode fills `message` and `part`; a
message that was removed stays in it. Messages of old versions are only in the tables. The database
may be open in opencode: readers of a write-ahead log neither block it nor wait for it.
"""

import errno
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Raw, Struct

from sapwood.programs.transcripts.row_file import decode_json

NAME = "opencode.db"
_SECONDS = 1.0
T = TypeVar("T")

_SESSIONS = """
SELECT id, coalesce(parent_id, ''), directory, time_updated,
    (SELECT seq FROM event_sequence WHERE aggregate_id = session.id) FROM session
"""
_EVENTS = "SELECT id, seq, type, data FROM event WHERE aggregate_id = ? AND seq >= ? ORDER BY seq"
_OLD_MESSAGES = """
SELECT id, data FROM message WHERE session_id = ? AND id NOT IN (
    SELECT json_extract(data, '$.info.id') FROM event
    WHERE aggregate_id = ? AND type LIKE 'message.updated.%'
) ORDER BY time_created, id
"""
_PARTS = "SELECT id, data FROM part WHERE message_id = ? ORDER BY id"
_BYTES_OF_EVENT = 400
"""Roughly; the sum of their lengths would need all of them."""


class StoredSession(Struct, frozen=True):
    """A session. `updated` is in microseconds since 1970, and `size` an estimate in bytes."""

    id: str
    parent: str
    folder: str
    updated: int
    size: int


class StoredEvent(Struct, frozen=True):
    """An event of a session's log. Its `data` is JSON."""

    id: str
    seq: int
    type: str
    data: bytes

    @property
    def row(self) -> bytes:
        """The event as one JSON object."""
        return msgspec.json.encode({"id": self.id, "type": self.type, "data": Raw(self.data)})


def _read(path: Path, query: Callable[[sqlite3.Connection], T]) -> T:
    """The result of a query. Raises `OSError`, also for what goes wrong in the database.

    Without a write-ahead log nobody has the database open, and it is read as a file that does not
    change: otherwise SQLite would leave two files beside it. If opencode started meanwhile, it is
    read again.
    """
    if not path.is_file():
        raise FileNotFoundError(errno.ENOENT, "there is no database", str(path))
    uri, log = f"{path.absolute().as_uri()}?mode=ro", path.with_name(f"{path.name}-wal")
    if not log.exists():
        with suppress(sqlite3.Error):
            result = _asked(f"{uri}&immutable=1", query)
            if not log.exists():
                return result
    try:
        return _asked(uri, query)
    except sqlite3.Error as error:
        raise OSError(errno.EIO, f"the database cannot be read ({error})", str(path)) from error


def _asked(uri: str, query: Callable[[sqlite3.Connection], T]) -> T:
    with closing(sqlite3.connect(uri, uri=True, timeout=_SECONDS)) as base:
        base.text_factory = bytes
        base.execute("BEGIN")  # all answers are of one moment
        return query(base)


def sessions_in(path: Path, where: str = "", *values: str) -> list[StoredSession]:
    """The sessions, or those that a condition selects. Raises `OSError`."""
    found = _read(path, lambda base: base.execute(f"{_SESSIONS} {where}", values).fetchall())
    return [
        StoredSession(
            _text(session),
            _text(parent),
            _text(folder),
            updated * 1000,
            _BYTES_OF_EVENT * (last or 1),
        )
        for session, parent, folder, updated, last in found
    ]


def events_of(path: Path, session: str, first: int = 0) -> list[StoredEvent]:
    """The events of a session from a number on. Raises `OSError`.

    Messages that are only in the tables come first, as the events that would have made them.
    """
    old, logged = _read(
        path,
        lambda base: (
            [] if first else list(_old_messages(base, session)),
            base.execute(_EVENTS, (session, first)).fetchall(),
        ),
    )
    return old + [
        StoredEvent(_text(name), seq, _text(kind), data) for name, seq, kind, data in logged
    ]


def processes_with(path: Path) -> set[int]:
    """The processes that have the database open, as far as this user may see them."""
    name, found = str(path.resolve()), set[int]()
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if any(os.readlink(each) == name for each in (process / "fd").iterdir()):
                found.add(int(process.name))
    return found


def _old_messages(base: sqlite3.Connection, session: str) -> Iterator[StoredEvent]:
    for name, data in base.execute(_OLD_MESSAGES, (session, session)).fetchall():
        message = _text(name)
        yield _made("message.updated.1", "info", message, data, {"id": message})
        for part, content in base.execute(_PARTS, (message,)).fetchall():
            ids = {"id": _text(part), "messageID": message}
            yield _made("message.part.updated.1", "part", message, content, ids)


def _made(kind: str, field: str, name: str, data: bytes, ids: dict[str, str]) -> StoredEvent:
    """An event for a row of a table, which has no ids in its JSON."""
    try:
        content = {**decode_json(data, dict[str, Raw]), **ids}
    except ValueError:
        content = dict[str, Raw | str](ids)
    return StoredEvent(name, 0, kind, msgspec.json.encode({field: content}))


def _text(value: bytes) -> str:
    return value.decode("utf-8", "replace")
