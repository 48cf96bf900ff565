"""Statements for search by meaning: they store what events are about, and find the nearest ones.

A search makes the signatures that are missing, the newest first, for a limited time. The next one
continues. Only one process at a time works on a space. Events after the oldest running transaction
have no signature yet, so a search looks at the newest of them in any case. Encrypted spaces have
none, since they tell what a text is about.
"""

import asyncio
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from sapwood.core.event_texts import said_text
from sapwood.core.events import Recorded
from sapwood.core.ids import AgentId, EventRef, Space
from sapwood.core.search_query import SearchQuery
from sapwood.meaning import MAX_SIGNED, SIGN_SECONDS, text_model
from sapwood.store.postgres.connections import INDEX_LOCK, Fetch, ReaderPool
from sapwood.store.postgres.event_table import COLUMNS, recorded_of
from sapwood.store.postgres.key_table import KeyTable

if TYPE_CHECKING:
    from sapwood.store.postgres.connections import Connection, Row

_PAGE, _MAX_NOT_SIGNED = 200, 50
_SIGNED = """
    SELECT
        (SELECT sum(cardinality(versions)) FROM sapwood.meanings WHERE space = $1) AS events,
        newest.last_tx, newest.last_position, oldest.first_tx, oldest.first_position
    FROM (
        SELECT last_tx, last_position FROM sapwood.meanings WHERE space = $1
        ORDER BY last_tx DESC, last_position DESC LIMIT 1
    ) AS newest, (
        SELECT first_tx, first_position FROM sapwood.meanings WHERE space = $1
        ORDER BY last_tx, last_position LIMIT 1
    ) AS oldest
"""
_SETTLED = "tx < (pg_snapshot_xmin(pg_current_snapshot())::text::bigint + $2)::text::xid8"
_AFTER = f"""
    SELECT {COLUMNS}, tx, position FROM sapwood.events
    WHERE space = $1 AND {_SETTLED} AND (tx, position) > ($4, $5)
    ORDER BY tx, position LIMIT $3
"""
_BEFORE = f"""
    SELECT {COLUMNS}, tx, position FROM sapwood.events
    WHERE space = $1 AND {_SETTLED} AND (tx, position) < ($4, $5)
    ORDER BY tx DESC, position DESC LIMIT $3
"""
_NEWEST = f"""
    SELECT {COLUMNS}, tx, position FROM sapwood.events WHERE space = $1 AND {_SETTLED}
    ORDER BY tx DESC, position DESC LIMIT $3
"""
# Not those that are unsettled: some of them may have settled since the last page was signed.
_NOT_SIGNED = """
    SELECT agent, version, at FROM sapwood.events
    WHERE space = $1 AND (tx, position) > (
        coalesce((SELECT last_tx FROM sapwood.meanings WHERE space = $1
            ORDER BY last_tx DESC, last_position DESC LIMIT 1), '0'),
        coalesce((SELECT last_position FROM sapwood.meanings WHERE space = $1
            ORDER BY last_tx DESC, last_position DESC LIMIT 1), 0)
    )
    ORDER BY tx DESC, position DESC LIMIT $2
"""
_INSERT = """
    INSERT INTO sapwood.meanings (
        space, first_tx, first_position, last_tx, last_position, agents, versions, times, signatures
    ) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
"""
_READ = """
    SELECT agents, versions, times, signatures FROM (
        SELECT *, sum(cardinality(versions)) OVER (
            ORDER BY last_tx DESC, last_position DESC
        ) - cardinality(versions) AS newer
        FROM sapwood.meanings WHERE space = $1
    ) AS page
    WHERE newer < $2 ORDER BY last_tx, last_position
"""


async def sign_events(
    readers: ReaderPool, space: Space, shift: int, keys: KeyTable | None = None
) -> None:
    """Stores the signatures that are missing in a space, as many as the time allows."""
    if keys is not None and await keys.of(space) is not None:
        return
    loop = asyncio.get_running_loop()
    deadline = loop.time() + SIGN_SECONDS
    page = _SignPage(space, shift, keys)
    while await readers.use(page) and loop.time() < deadline:
        pass


class _SignPage:
    """Stores the next signatures, in one transaction."""

    def __init__(self, space: Space, shift: int, keys: KeyTable | None) -> None:
        self._space = space
        self._shift = shift
        self._keys = keys

    async def __call__(self, connection: "Connection") -> bool:
        """Returns false if none was missing."""
        async with connection.transaction():
            await connection.fetchval(INDEX_LOCK, self._space)
            rows = await self._unsigned(connection)
            if not rows:
                return False
            rows.sort(key=lambda row: (row["tx"], row["position"]))
            events = await recorded_of(connection.fetch, self._space, rows, self._keys)
            signed, signatures = await asyncio.to_thread(_signed, events)
            await connection.execute(
                _INSERT,
                self._space,
                *(rows[0]["tx"], rows[0]["position"], rows[-1]["tx"], rows[-1]["position"]),
                *([each.agent for each in signed], [each.version for each in signed]),
                *([each.at for each in signed], signatures),
            )
        return True

    async def _unsigned(self, connection: "Connection") -> "list[Row]":
        """The next events without signature: new ones, then older ones."""
        asked = (self._space, self._shift, _PAGE)
        done = await connection.fetchrow(_SIGNED, self._space)
        if done is None:
            return await connection.fetch(_NEWEST, *asked)
        new = await connection.fetch(_AFTER, *asked, done["last_tx"], done["last_position"])
        if new or done["events"] >= MAX_SIGNED:
            return new
        return await connection.fetch(_BEFORE, *asked, done["first_tx"], done["first_position"])


def _signed(events: Sequence[Recorded]) -> tuple[list[Recorded], bytes]:
    """The events that have words, and their signatures."""
    texts = [(each, said_text(each.event)) for each in events]
    signed = [(each, text) for each, text in texts if text.strip()]
    signatures = text_model().signatures([text for _, text in signed])
    return [each for each, _ in signed], b"".join(signatures)


async def nearest_events(
    fetch: Fetch, space: Space, query: SearchQuery, agents: Sequence[AgentId] | None
) -> list[EventRef]:
    """The events most like a question, and unsigned ones, within the limits of a search."""
    new = await fetch(_NOT_SIGNED, space, _MAX_NOT_SIGNED)
    rows = await fetch(_READ, space, MAX_SIGNED)
    unsigned = [
        EventRef(row["agent"], row["version"])
        for row in new
        if _is_asked(query, agents, row["agent"], row["at"])
    ]
    return [*await asyncio.to_thread(_nearest, rows, query, agents), *unsigned]


def _nearest(
    rows: "Sequence[Row]", query: SearchQuery, agents: Sequence[AgentId] | None
) -> list[EventRef]:
    refs = [
        EventRef(agent, version)
        for row in rows
        for agent, version in zip(row["agents"], row["versions"], strict=True)
    ]
    if not refs:
        return []
    among: list[int] | None = None
    if agents is not None or query.before or query.after:
        wanted = None if agents is None else frozenset(agents)
        times = [at for row in rows for at in row["times"]]
        among = [
            place
            for place, (ref, at) in enumerate(zip(refs, times, strict=True))
            if _is_asked(query, wanted, ref.agent, at)
        ]
    signatures = b"".join(row["signatures"] for row in rows)
    return [refs[place] for place in text_model().nearest(query.question, signatures, among)]


def _is_asked(
    query: SearchQuery, agents: Collection[AgentId] | None, agent: AgentId, at: int
) -> bool:
    """Whether a search is about an event of this agent and time."""
    in_time = at >= query.after and not 0 < query.before <= at
    return in_time and (agents is None or agent in agents)
