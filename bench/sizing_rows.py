"""Fills a PostgreSQL database with copies of the conversations that are in it.

A copy has agents, commands and terms of its own, so that indexes grow as they do with as many
conversations. Half of the copies are in the space of the originals, the others in 100 more spaces.
"""

import asyncio
import time

import asyncpg

from sapwood.core.ids import Space
from sapwood.core.search_terms import agent_term
from sapwood.store.postgres import PostgresLog
from sapwood.store.postgres.fulltext import space_term

_SPACES = 100

_ORIGINALS = """
    CREATE TEMPORARY TABLE first_agents AS SELECT * FROM sapwood.agents;
    CREATE TEMPORARY TABLE first_events AS SELECT * FROM sapwood.events;
    CREATE TEMPORARY TABLE first_search AS SELECT * FROM sapwood.search;
    CREATE TEMPORARY TABLE first_receipts AS SELECT receipt.* FROM sapwood.receipts AS receipt
        WHERE command IN (SELECT command FROM first_events)
"""
"""Tables of their own, so that reading them takes no longer when the database is full."""

_NAMES = """
    CREATE TEMPORARY TABLE names (
        agent text COLLATE "C" PRIMARY KEY, copy text COLLATE "C", scope text, term text
    ) ON COMMIT DROP
"""
_REPLACED = "replace({}, '\"' || names.agent || '\"', '\"' || names.copy || '\"')"
_AGENTS = f"""
    INSERT INTO sapwood.agents (space, agent, version, facts, name, parent, status, created)
    SELECT $1, copy, version, {_REPLACED.format("facts")}, name, parent, status, created
    FROM first_agents JOIN names USING (agent)
"""
_EVENTS = f"""
    INSERT INTO sapwood.events (space, agent, version, kind, data, contents, at, actor, command)
    SELECT $1, copy, version, kind, {_REPLACED.format("data")}, contents, at, actor, command || $2
    FROM first_events JOIN names USING (agent) ORDER BY tx, position
"""
_RECEIPTS = """
    INSERT INTO sapwood.receipts (space, command, data)
    SELECT $1, command || $2, data FROM first_receipts
"""
_SEARCH = """
    INSERT INTO sapwood.search (space, agent, version, part, at, terms)
    SELECT $1, copy, version, part, at, array_to_tsvector(
        ARRAY[$2, names.term] || tsvector_to_array(ts_delete(terms, ARRAY[$3, names.scope]))
    )
    FROM first_search JOIN names USING (agent)
"""
_CONTENTS = """
    INSERT INTO sapwood.contents (space, hash, data)
    SELECT $2, hash, data FROM sapwood.contents WHERE space = $1 ON CONFLICT DO NOTHING
"""
_INDEXED = """
    INSERT INTO sapwood.searchable (space, tx, position)
    SELECT space, tx, position FROM sapwood.events WHERE space = $1
    ORDER BY tx DESC, position DESC LIMIT 1
    ON CONFLICT (space) DO UPDATE SET tx = excluded.tx, position = excluded.position
"""


async def fill(dsn: str, space: Space, events: int) -> int:
    """Adds copies until there are so many events; returns how many there are.

    Of two sessions, one writes to the space of the originals and one to the others, so that neither
    waits for rows of the other.
    """
    sessions = [await asyncpg.connect(dsn) for _ in range(2)]
    try:
        for session in sessions:
            await session.execute(_ORIGINALS)
        own = await sessions[0].fetchval("SELECT count(*) FROM first_events")
        progress = _Progress(own)
        copies = range(max(0, -(-(events - own) // own)))
        async with asyncio.TaskGroup() as tasks:
            for session, part in zip(sessions, (copies[1::2], copies[::2]), strict=True):
                tasks.create_task(_copies(session, space, part, progress))
        await _count_events(dsn, space)
        progress.show("; vacuum")
        await sessions[0].execute("VACUUM ANALYZE")
        return progress.stored
    finally:
        for session in sessions:
            await session.close()


async def _count_events(dsn: str, space: Space) -> None:
    """Stores the places of cursors, as who stores many events does, so that no turn does it."""
    log = await PostgresLog.open(dsn)
    try:
        for place in (space, *(Space(f"tenant-{number}") for number in range(_SPACES))):
            await log.end(place)
    finally:
        await log.close()


class _Progress:
    """How many events are stored, shown every ten seconds."""

    def __init__(self, originals: int) -> None:
        self.stored = self._originals = originals
        self._began = self._told = time.monotonic()

    def add_copy(self) -> None:
        self.stored += self._originals
        if time.monotonic() - self._told > 10:
            self.show()

    def show(self, doing: str = "") -> None:
        self._told = time.monotonic()
        print(f"  {self._told - self._began:.0f} s: {self.stored:,} events{doing}", flush=True)


async def _copies(
    session: "asyncpg.Connection", space: Space, numbers: range, progress: _Progress
) -> None:
    agents = [each["agent"] for each in await session.fetch("SELECT agent FROM first_agents")]
    for number in numbers:
        place = space if number % 2 else Space(f"tenant-{number // 2 % _SPACES}")
        await _copy(session, space, place, agents, f"-{number}")
        progress.add_copy()


async def _copy(
    session: "asyncpg.Connection", space: Space, place: Space, agents: list[str], suffix: str
) -> None:
    async with session.transaction():
        await session.execute(_NAMES)
        rows = [
            (each, copy := each + suffix, agent_term(each), agent_term(copy)) for each in agents
        ]
        await session.copy_records_to_table("names", records=rows)
        await session.execute("ANALYZE names")
        await session.execute(_AGENTS, place)
        await session.execute(_EVENTS, place, suffix)
        await session.execute(_RECEIPTS, place, suffix)
        await session.execute(_SEARCH, place, space_term(place), space_term(space))
        await session.execute(_INDEXED, place)
        if place != space:
            await session.execute(_CONTENTS, space, place)
