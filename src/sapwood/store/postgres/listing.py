"""Agents: their facts, the list, finding by name, and kin."""

import msgspec

from sapwood.core.ids import AgentId, Space
from sapwood.core.log import Facts
from sapwood.store.postgres.job import plain_name
from sapwood.store.postgres.reading import FOREVER
from sapwood.store.postgres.sessions import Readers

__all__ = ["ancestors", "descendants", "facts_of", "find", "in_folder", "page", "working"]

_FACTS = "SELECT facts FROM sapwood.agents WHERE space = $1 AND agent = $2"
_PAGE = """
    SELECT facts FROM sapwood.agents
    WHERE space = $1 AND (created, agent) < ($2, $3)
        AND ($4::text IS NULL OR parent = $4) AND ($5::text IS NULL OR status = $5)
    ORDER BY created DESC, agent DESC LIMIT $6
"""
# By the hour first, as the index has it: what is sorted then is only those of one hour.
_UPDATED = "substring(facts from '\"updated\":(\\d+)')::bigint"
_IN_FOLDER = f"""
    SELECT facts FROM sapwood.agents
    WHERE space = $1 AND folder = $2 AND parent IS NULL AND folder IS NOT NULL
        AND hour <= $3 AND ({_UPDATED}, agent) < ($4, $5) AND ($6::text IS NULL OR status = $6)
    ORDER BY hour DESC, {_UPDATED} DESC, agent DESC LIMIT $7
"""
_WORKING = """
    SELECT facts FROM sapwood.agents WHERE space = $1 AND agent > $2 AND working
    ORDER BY agent LIMIT $3
"""
_NAMED = """
    SELECT facts FROM sapwood.agents WHERE space = $1 AND name = $2
    ORDER BY created DESC, agent DESC LIMIT $3
"""
_STARTING_SO = """
    SELECT facts FROM sapwood.agents WHERE space = $1 AND agent >= $2 AND agent < $3
    ORDER BY created DESC, agent DESC LIMIT $4
"""
_ANCESTORS = """
    WITH RECURSIVE line (agent, depth) AS (
        SELECT parent, 1 FROM sapwood.agents
        WHERE space = $1 AND agent = $2 AND parent IS NOT NULL
        UNION ALL
        SELECT kin.parent, line.depth + 1
        FROM line JOIN sapwood.agents AS kin ON kin.space = $1 AND kin.agent = line.agent
        WHERE kin.parent IS NOT NULL
    )
    SELECT agent FROM line ORDER BY depth
"""
_DESCENDANTS = """
    WITH RECURSIVE line (agent, created, depth) AS (
        SELECT agent, created, 1 FROM sapwood.agents WHERE space = $1 AND parent = $2
        UNION ALL
        SELECT kin.agent, kin.created, line.depth + 1
        FROM line JOIN sapwood.agents AS kin ON kin.space = $1 AND kin.parent = line.agent
    )
    SELECT agent FROM line ORDER BY depth, created, agent
"""
_LAST_CHARACTER = "\U0010ffff"

_HOUR = 3_600_000_000

_facts = msgspec.json.Decoder(Facts)
_json = msgspec.json.Encoder()


async def facts_of(readers: Readers, space: Space, agent: AgentId) -> Facts | None:
    """What is known of one agent without opening its log."""
    row = await readers.fetchrow(_FACTS, space, agent)
    return _facts.decode(row["facts"]) if row else None


async def page(
    readers: Readers,
    space: Space,
    after: Facts | None,
    limit: int,
    parent: AgentId | None,
    status: str | None,
) -> list[Facts]:
    """The next agents after the last one seen, newest first."""
    created, agent = (after.created, after.agent) if after else (FOREVER, "")
    rows = await readers.fetch(_PAGE, space, created, agent, parent, status, limit)
    return [_facts.decode(row["facts"]) for row in rows]


async def in_folder(
    readers: Readers,
    space: Space,
    folder: str,
    after: Facts | None,
    limit: int,
    status: str | None,
) -> list[Facts]:
    """The next root agents of a folder after the last one seen, last written to first."""
    if not folder:
        return []
    asked = _json.encode(folder).decode()[1:-1]
    updated, agent = (after.updated, after.agent) if after else (FOREVER, "")
    rows = await readers.fetch(
        _IN_FOLDER, space, asked, updated // _HOUR, updated, agent, status, limit
    )
    return [_facts.decode(row["facts"]) for row in rows]


async def working(readers: Readers, space: Space, after: AgentId | None, limit: int) -> list[Facts]:
    """The next agents that have work to do."""
    rows = await readers.fetch(_WORKING, space, after or "", limit)
    return [_facts.decode(row["facts"]) for row in rows]


async def find(readers: Readers, space: Space, name: str, limit: int) -> list[Facts]:
    """The agent with this id; else those with this name; else those whose id starts so."""
    asked = plain_name(name)
    if exact := await facts_of(readers, space, AgentId(asked)):
        return [exact]
    if not name:
        return []
    rows = await readers.fetch(_NAMED, space, asked, limit)
    if not rows:
        rows = await readers.fetch(_STARTING_SO, space, asked, asked + _LAST_CHARACTER, limit)
    return [_facts.decode(row["facts"]) for row in rows]


async def ancestors(readers: Readers, space: Space, agent: AgentId) -> list[AgentId]:
    """Parent, grandparent, and so on."""
    return [AgentId(row["agent"]) for row in await readers.fetch(_ANCESTORS, space, agent)]


async def descendants(readers: Readers, space: Space, agent: AgentId) -> list[AgentId]:
    """Children, then their children, and so on."""
    return [AgentId(row["agent"]) for row in await readers.fetch(_DESCENDANTS, space, agent)]
