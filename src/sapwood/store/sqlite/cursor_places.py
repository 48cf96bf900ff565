"""Statements that find the place of a cursor, which is a number of events of its space.

Events are counted once, in the order of their positions. A place is stored now and then, so that a
cursor is found from the place before it, however many events the space has.
"""

from sqlite3 import Connection

from sapwood.core.ids import Space
from sapwood.core.log_values import Cursor, unknown_cursor

_EVENTS_APART, _POSITIONS_APART = 1_000, 10_000
"""A place is stored after so many events of its space, or of all spaces."""
_PAGE = 10_000
_FEW = 2_000
"""How many events may be uncounted: reading them takes a millisecond."""
_NO_LIMIT = 2**62


def is_behind(connection: Connection) -> bool:
    """Whether so many events are uncounted that it is worth counting them first."""
    (newest,) = connection.execute("SELECT max(position) FROM events").fetchone()
    return (newest or 0) - _counted(connection) > _FEW


def count_all(connection: Connection) -> None:
    """Counts all events, within the caller's transaction."""
    while count_page(connection):
        pass


def count_page(connection: Connection) -> bool:
    """Counts the next events, within the caller's transaction. Returns whether there are more."""
    rows: list[tuple[int, Space]] = connection.execute(
        "SELECT position, space FROM events NOT INDEXED WHERE position > ?1"
        " UNION ALL SELECT position, space FROM gaps WHERE position > ?1"
        " ORDER BY position LIMIT ?2",
        (_counted(connection), _PAGE),
    ).fetchall()
    if not rows:
        return False
    spaces = {space for _, space in rows}
    counts = {space: _count(connection, space) for space in spaces}
    places = {space: _place_before(connection, space, _NO_LIMIT) for space in spaces}
    new: list[tuple[Space, int, int]] = []
    for position, space in rows:
        count = counts[space] = counts[space] + 1
        events, last = places[space]
        if count - events >= _EVENTS_APART or position - last >= _POSITIONS_APART:
            places[space] = (count, position)
            new.append((space, count, position))
    connection.executemany("INSERT INTO cursor_places VALUES (?, ?, ?)", new)
    connection.executemany(
        "INSERT INTO event_counts VALUES (?, ?)"
        " ON CONFLICT (space) DO UPDATE SET events = excluded.events",
        counts.items(),
    )
    connection.execute("UPDATE counted SET position = ?", (rows[-1][0],))
    return len(rows) == _PAGE


def event_count(connection: Connection, space: Space) -> int:
    """How many events a space has had, with those that were erased."""
    (uncounted,) = connection.execute(
        "SELECT count(*) FROM events NOT INDEXED"
        " WHERE position > (SELECT position FROM counted) AND space = ?",
        (space,),
    ).fetchone()
    return _count(connection, space) + uncounted


def place_of(connection: Connection, space: Space, cursor: Cursor) -> tuple[int, int]:
    """The number of events of the space up to a cursor, and the position of the last of them.

    Raises `LogError` if the space has no event there.
    """
    if cursor == Cursor():
        return 0, 0
    if not 0 <= max(cursor.events, cursor.position) <= _NO_LIMIT:
        raise unknown_cursor()
    if cursor.position:
        return _place_of_old(connection, space, cursor.position)
    if cursor.events < 1 or cursor.events > event_count(connection, space):
        raise unknown_cursor()
    events, position = _place_before(connection, space, cursor.events)
    if events == cursor.events:
        return events, position
    # NOT INDEXED walks by position. Cursors count erased events too.
    row = connection.execute(
        "SELECT position FROM events NOT INDEXED WHERE space = ?1 AND position > ?2"
        " UNION ALL SELECT position FROM gaps WHERE space = ?1 AND position > ?2"
        " ORDER BY position LIMIT 1 OFFSET ?3",
        (space, position, cursor.events - events - 1),
    ).fetchone()
    if row is None:
        raise unknown_cursor()
    return cursor.events, row[0]


def _place_of_old(connection: Connection, space: Space, position: int) -> tuple[int, int]:
    """The place of a cursor that an earlier version returned."""
    known = connection.execute(
        "SELECT 1 FROM events JOIN old_cursors ON events.position <= old_cursors.position"
        " WHERE events.position = ? AND space = ?",
        (position, space),
    ).fetchone()
    if known is None:
        raise unknown_cursor()
    (count,) = connection.execute(
        "SELECT (SELECT count(*) FROM events INDEXED BY sqlite_autoindex_events_1"
        " WHERE space = ?1 AND position <= ?2) + (SELECT count(*) FROM gaps"
        " WHERE space = ?1 AND position <= ?2)",
        (space, position),
    ).fetchone()
    return count, position


def _counted(connection: Connection) -> int:
    (position,) = connection.execute("SELECT position FROM counted").fetchone()
    return position


def _count(connection: Connection, space: Space) -> int:
    """How many events of the space are counted."""
    row = connection.execute("SELECT events FROM event_counts WHERE space = ?", (space,)).fetchone()
    return row[0] if row else 0


def _place_before(connection: Connection, space: Space, count: int) -> tuple[int, int]:
    """The last stored place up to this number of events: its number of events, its position."""
    row = connection.execute(
        "SELECT events, position FROM cursor_places WHERE space = ? AND events <= ?"
        " ORDER BY events DESC LIMIT 1",
        (space, count),
    ).fetchone()
    return row or (0, 0)
