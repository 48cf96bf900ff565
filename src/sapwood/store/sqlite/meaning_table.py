"""Statements for search by meaning: they store what events are about, and find the nearest ones.

A search makes the signatures that are missing, the newest first, for a limited time. The next one
continues. Encrypted spaces have no signatures, since they tell what a text is about.
"""

import json
import time
from array import array
from collections.abc import Sequence
from functools import partial
from sqlite3 import Connection

from msgspec import Struct

from sapwood.core.event_texts import said_text
from sapwood.core.ids import AgentId, Space
from sapwood.core.search_query import SearchQuery
from sapwood.meaning import MAX_SIGNED, SIGN_SECONDS, text_model
from sapwood.store.sqlite.connections import SqliteReaderPool
from sapwood.store.sqlite.event_table import ROW, Row, recorded_of
from sapwood.store.sqlite.key_table import cipher_of
from sapwood.store.sqlite.writer import Writer

_PAGE = 200
# By position and not by the index of the space, which would sort all events of it for each page.
_UNSIGNED = f"SELECT {ROW} FROM events NOT INDEXED WHERE space = ? AND position "
_AFTER = f"{_UNSIGNED} > ? ORDER BY position LIMIT ?"
_BEFORE = f"{_UNSIGNED} < ? ORDER BY position DESC LIMIT ?"
_NEWEST = 2**62


class SignedPage(Struct, frozen=True):
    """The signatures of the events from position `first` to `last`.

    `erased` is how many agents had been erased when the events were read.
    """

    space: Space
    first: int
    last: int
    erased: int
    positions: list[int]
    signatures: bytes


def next_page(connection: Connection, space: Space) -> SignedPage | None:
    """The next signatures to store; None if none is missing."""
    if cipher_of(connection, space) is not None:
        return None
    (erased,) = connection.execute("SELECT erased FROM indexed").fetchone()
    rows = _unsigned(connection, space)
    if not rows:
        return None
    events = recorded_of(connection, space, rows)
    texts = {row[0]: said_text(each.event) for row, each in zip(rows, events, strict=True)}
    signed = sorted(position for position, text in texts.items() if text.strip())
    signatures = text_model().signatures([texts[position] for position in signed])
    return SignedPage(space, min(texts), max(texts), erased, signed, b"".join(signatures))


def _unsigned(connection: Connection, space: Space) -> list[Row]:
    """The next events without signature: new ones, then older ones."""
    first, last, count = connection.execute(
        "SELECT min(first), max(last), sum(events) FROM meanings WHERE space = ?", (space,)
    ).fetchone()
    if last is not None:
        rows: list[Row] = connection.execute(_AFTER, (space, last, _PAGE)).fetchall()
        if rows or count >= MAX_SIGNED:
            return rows
    return connection.execute(_BEFORE, (space, first or _NEWEST, _PAGE)).fetchall()


def insert_page(connection: Connection, page: SignedPage) -> None:
    """Stores signatures, unless another process has stored them or something was erased."""
    connection.execute(
        "INSERT INTO meanings (space, first, last, events, positions, signatures)"
        " SELECT ?1, ?2, ?3, ?4, ?5, ?6 WHERE (SELECT erased FROM indexed) = ?7 AND NOT EXISTS"
        " (SELECT 1 FROM meanings WHERE space = ?1 AND first <= ?3 AND last >= ?2)",
        (
            *(page.space, page.first, page.last, len(page.positions)),
            *(array("q", page.positions).tobytes(), page.signatures, page.erased),
        ),
    )


def forget_meanings(connection: Connection, space: Space) -> None:
    """Deletes all signatures of a space. The next search makes them again."""
    connection.execute("DELETE FROM meanings WHERE space = ?", (space,))


async def sign_events(readers: SqliteReaderPool, writer: Writer, space: Space) -> None:
    """Stores the signatures that are missing in a space, as many as the time allows."""
    deadline = time.monotonic() + SIGN_SECONDS
    while page := await readers.run(partial(next_page, space=space)):
        await writer.run(partial(insert_page, page=page), durable=False)
        if time.monotonic() > deadline:
            return


def nearest_events(
    connection: Connection,
    space: Space,
    query: SearchQuery,
    agents: Sequence[AgentId] | None,
) -> list[int]:
    """The positions of the events that are most like a question, within the limits of a search."""
    rows = connection.execute(
        "SELECT positions, signatures, events FROM meanings WHERE space = ? ORDER BY first DESC",
        (space,),
    )
    pages: list[tuple[bytes, bytes]] = []
    count = 0
    for positions, signatures, events in rows:
        pages.append((positions, signatures))
        count += events
        if count >= MAX_SIGNED:
            break
    if not count:
        return []
    pages.reverse()
    places = array("q", b"".join(page[0] for page in pages))
    among = _among(connection, space, query, agents, places)
    near = text_model().nearest(query.question, b"".join(page[1] for page in pages), among)
    return [places[each] for each in near]


def _among(
    connection: Connection,
    space: Space,
    query: SearchQuery,
    agents: Sequence[AgentId] | None,
    places: "array[int]",
) -> list[int] | None:
    """The indexes of the events that the search is limited to; None if it is not."""
    if agents is None and not query.before and not query.after:
        return None
    allowed = connection.execute(
        "SELECT position FROM events WHERE space = ?1 AND position >= ?2"
        " AND (?3 IS NULL OR agent IN (SELECT value FROM json_each(?3)))"
        " AND (?4 = 0 OR at < ?4) AND at >= ?5",
        (
            *(space, places[0], None if agents is None else json.dumps(agents)),
            *(query.before, query.after),
        ),
    )
    wanted = {position for (position,) in allowed}
    return [index for index, position in enumerate(places) if position in wanted]
