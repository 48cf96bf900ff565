"""Statements about the table of agents: list, find by name, family."""

from collections.abc import Sequence

import msgspec

from sapwood.core.ids import AgentId, Space
from sapwood.core.log_values import AgentSummary, Order
from sapwood.core.tags import key_of
from sapwood.store.postgres.connections import Reader
from sapwood.store.postgres.event_table import MAX_BIGINT

_SUMMARY = "SELECT facts FROM sapwood.agents WHERE space = $1 AND agent = $2"
_SUMMARIES = "SELECT facts FROM sapwood.agents WHERE space = $1 AND agent = ANY($2)"
_PAGE = """
    SELECT facts FROM sapwood.agents
    WHERE space = $1 AND (created, agent) < ($2, $3)
        AND ($4::text IS NULL OR parent = $4) AND ($5::text IS NULL OR status = $5)
    ORDER BY created DESC, agent DESC LIMIT $6
"""
_UPDATED = "substring(facts from '\"updated\":(\\d+)')::bigint"
_HAS_KEY = """
    EXISTS (SELECT FROM sapwood.agent_keys AS known
            WHERE known.space = agents.space AND known.agent = agents.agent AND known.key = {key})
"""
_CHILDREN = f"""
    SELECT facts FROM sapwood.agents
    WHERE space = $1 AND parent = $2 AND (created, agent) < ($3, $4)
        AND ($5::text IS NULL OR status = $5) AND ($6 = '' OR {_HAS_KEY.format(key="$6")})
    ORDER BY created DESC, agent DESC LIMIT $7
"""
_CHILDREN_BY_UPDATE = f"""
    SELECT facts FROM sapwood.agents
    WHERE space = $1 AND parent = $2 AND ({_UPDATED}, agent) < ($3, $4)
        AND ($5::text IS NULL OR status = $5) AND ($6 = '' OR {_HAS_KEY.format(key="$6")})
    ORDER BY {_UPDATED} DESC, agent DESC LIMIT $7
"""
# An index delivers the agents of one status in order; three statuses are merged.
_BY_KEY = """
    SELECT page.facts FROM unnest($2::text[]) AS wanted (status) CROSS JOIN LATERAL (
        SELECT agents.facts, known.created, known.agent
        FROM sapwood.agent_keys AS known JOIN sapwood.agents AS agents
            ON agents.space = known.space AND agents.agent = known.agent
        WHERE known.space = $1 AND known.key = $3 AND known.status = wanted.status
            AND (known.created, known.agent) < ($4, $5)
        ORDER BY known.created DESC, known.agent DESC LIMIT $6
    ) AS page ORDER BY page.created DESC, page.agent DESC LIMIT $6
"""
# The index delivers the hours in order, so PostgreSQL sorts only the rows of one hour at a time.
_BY_KEY_AND_UPDATE = f"""
    SELECT page.facts FROM unnest($2::text[]) AS wanted (status) CROSS JOIN LATERAL (
        SELECT agents.facts, {_UPDATED} AS updated, known.agent
        FROM sapwood.agent_keys AS known JOIN sapwood.agents AS agents
            ON agents.space = known.space AND agents.agent = known.agent
        WHERE known.space = $1 AND known.key = $3 AND known.status = wanted.status
            AND known.hour <= $4 AND ({_UPDATED}, known.agent) < ($5, $6)
        ORDER BY known.hour DESC, updated DESC, known.agent DESC LIMIT $7
    ) AS page ORDER BY page.updated DESC, page.agent DESC LIMIT $7
"""
# The order names the first column of the index, which has one value here: under row-level security,
# PostgreSQL does not conclude that by itself.
_BY_UPDATE = f"""
    SELECT page.facts FROM unnest($2::text[]) AS wanted (status) CROSS JOIN LATERAL (
        SELECT facts, {_UPDATED} AS updated, agent FROM sapwood.agents
        WHERE status || ' ' || space = wanted.status || ' ' || $1
            AND hour <= $3 AND ({_UPDATED}, agent) < ($4, $5)
        ORDER BY status || ' ' || space DESC, hour DESC, updated DESC, agent DESC LIMIT $6
    ) AS page ORDER BY page.updated DESC, page.agent DESC LIMIT $6
"""
_IN_FOLDER = f"""
    SELECT facts FROM sapwood.agents
    WHERE space = $1 AND folder = $2 AND parent IS NULL AND folder IS NOT NULL
        AND hour <= $3 AND ({_UPDATED}, agent) < ($4, $5) AND ($6::text IS NULL OR status = $6)
    ORDER BY hour DESC, {_UPDATED} DESC, agent DESC LIMIT $7
"""
_WORKING_SPACES = """
    SELECT DISTINCT space FROM sapwood.agents WHERE working AND space > $1 AND NOT EXISTS (
        SELECT FROM sapwood.moves
        WHERE moves.space = agents.space AND state IN ('moved', 'arriving')
    ) ORDER BY space LIMIT $2
"""
_SPACES = """
    WITH RECURSIVE found (space) AS (
        SELECT min(space) FROM sapwood.agents WHERE space > $1
        UNION ALL
        SELECT (SELECT min(space) FROM sapwood.agents WHERE space > found.space)
        FROM found WHERE found.space IS NOT NULL
    ) SELECT space FROM found WHERE space IS NOT NULL LIMIT $2
"""
_WORKING = """
    SELECT facts FROM sapwood.agents WHERE space = $1 AND agent > $2 AND working
    ORDER BY agent LIMIT $3
"""
_NAMED = """
    SELECT facts FROM sapwood.agents WHERE space = $1 AND name = $2
    ORDER BY created DESC, agent DESC LIMIT $3
"""
_WITH_PREFIX = """
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
_FAMILY = """
    WITH RECURSIVE line (agent, parent) AS (
        SELECT agent, parent FROM sapwood.agents WHERE space = $1 AND agent = $2
        UNION ALL
        SELECT kin.agent, kin.parent
        FROM line JOIN sapwood.agents AS kin ON kin.space = $1 AND kin.agent = line.parent
    ), family (agent, facts, depth) AS (
        SELECT root.agent, root.facts, 0
        FROM line JOIN sapwood.agents AS root ON root.space = $1 AND root.agent = line.agent
        WHERE line.parent IS NULL
        UNION ALL
        SELECT kin.agent, kin.facts, family.depth + 1
        FROM family JOIN sapwood.agents AS kin ON kin.space = $1 AND kin.parent = family.agent
    )
    SELECT facts FROM family ORDER BY depth, agent
"""
_STATUSES = ("running", "archived", "killed")
_LAST_CHARACTER = "\U0010ffff"

_HOUR_MICROSECONDS = 3_600_000_000

_summary = msgspec.json.Decoder(AgentSummary)
_json = msgspec.json.Encoder()


async def find_summary(readers: Reader, space: Space, agent: AgentId) -> AgentSummary | None:
    """The summary of one agent."""
    row = await readers.fetchrow(_SUMMARY, space, agent)
    return _summary.decode(row["facts"]) if row else None


async def list_agents(
    readers: Reader,
    space: Space,
    after: AgentSummary | None,
    limit: int,
    parent: AgentId | None,
    status: str | None,
    owner: str = "",
    label: str = "",
    order: Order = "created",
) -> list[AgentSummary]:
    """A page of agents after the last one seen, newest first."""
    key = key_of(storable_name(owner), storable_name(label)) if owner or label else ""
    created, agent = (after.created, after.agent) if after else (MAX_BIGINT, "")
    updated = after.updated if after else MAX_BIGINT
    hour, statuses = updated // _HOUR_MICROSECONDS, [status] if status else list(_STATUSES)
    arguments: tuple[object, ...]
    match order, parent, key:
        case "created", None, "":
            query, arguments = _PAGE, (space, created, agent, None, status, limit)
        case "created", None, _:
            query, arguments = _BY_KEY, (space, statuses, key, created, agent, limit)
        case "created", _, _:
            query, arguments = _CHILDREN, (space, parent, created, agent, status, key, limit)
        case _, None, "":
            query, arguments = _BY_UPDATE, (space, statuses, hour, updated, agent, limit)
        case _, None, _:
            query = _BY_KEY_AND_UPDATE
            arguments = (space, statuses, key, hour, updated, agent, limit)
        case _:
            query = _CHILDREN_BY_UPDATE
            arguments = (space, parent, updated, agent, status, key, limit)
    rows = await readers.fetch(query, *arguments)
    return [_summary.decode(row["facts"]) for row in rows]


async def visible(
    readers: Reader, space: Space, found: Sequence[AgentSummary]
) -> list[AgentSummary]:
    """Those of the agents that these readers see, read again."""
    rows = await readers.fetch(_SUMMARIES, space, [each.agent for each in found])
    seen = {each.agent: each for each in (_summary.decode(row["facts"]) for row in rows)}
    return [seen[each.agent] for each in found if each.agent in seen]


async def list_folder(
    readers: Reader,
    space: Space,
    folder: str,
    after: AgentSummary | None,
    limit: int,
    status: str | None,
) -> list[AgentSummary]:
    """A page of the root agents of a folder after the last one seen, latest event first."""
    if not folder:
        return []
    wanted = _json.encode(folder).decode()[1:-1]
    updated, agent = (after.updated, after.agent) if after else (MAX_BIGINT, "")
    rows = await readers.fetch(
        _IN_FOLDER, space, wanted, updated // _HOUR_MICROSECONDS, updated, agent, status, limit
    )
    return [_summary.decode(row["facts"]) for row in rows]


async def list_working(
    readers: Reader, space: Space, after: AgentId | None, limit: int
) -> list[AgentSummary]:
    """A page of the running agents that have work to do, ordered by id."""
    rows = await readers.fetch(_WORKING, space, after or "", limit)
    return [_summary.decode(row["facts"]) for row in rows]


async def working_spaces(
    readers: Reader, *, after: Space | None = None, limit: int = 100
) -> list[Space]:
    """A page of the spaces here in which an agent has work to do, ordered by name."""
    rows = await readers.fetch(_WORKING_SPACES, after or "", limit)
    return [Space(row["space"]) for row in rows]


async def list_spaces(
    readers: Reader, *, after: Space | None = None, limit: int = 100
) -> list[Space]:
    """A page of the spaces that have agents, ordered by name."""
    rows = await readers.fetch(_SPACES, after or "", limit)
    return [Space(row["space"]) for row in rows]


async def find_agents(
    readers: Reader, space: Space, name: str, stored: str, limit: int
) -> list[AgentSummary]:
    """The agent with this id, or else agents with this name, or else ids with this prefix.

    `stored` is the name as the table has it.
    """
    wanted = storable_name(name)
    if exact := await find_summary(readers, space, AgentId(wanted)):
        return [exact]
    if not name:
        return []
    rows = await readers.fetch(_NAMED, space, storable_name(stored), limit)
    if not rows:
        rows = await readers.fetch(_WITH_PREFIX, space, wanted, wanted + _LAST_CHARACTER, limit)
    return [_summary.decode(row["facts"]) for row in rows]


async def ancestors(readers: Reader, space: Space, agent: AgentId) -> list[AgentId]:
    """The parent, its parent, and so on up to the root."""
    return [AgentId(row["agent"]) for row in await readers.fetch(_ANCESTORS, space, agent)]


async def descendants(readers: Reader, space: Space, agent: AgentId) -> list[AgentId]:
    """The children, their children, and so on; parents before their children."""
    return [AgentId(row["agent"]) for row in await readers.fetch(_DESCENDANTS, space, agent)]


async def family(readers: Reader, space: Space, agent: AgentId) -> list[AgentSummary]:
    """The root and all its descendants; parents before their children."""
    rows = await readers.fetch(_FAMILY, space, agent)
    return [_summary.decode(row["facts"]) for row in rows]


def listed_columns(summary: AgentSummary) -> tuple[bool, str | None, int | None]:
    """The columns `working`, `folder` and `hour`, by which lists find an agent.

    The folder is as the facts have it, in JSON.
    """
    working = summary.working and summary.status == "running"
    folder = _json.encode(summary.folder).decode()[1:-1] if summary.folder else None
    return working, folder, summary.updated // _HOUR_MICROSECONDS if summary.updated else None


def storable_name(name: str) -> str:
    """The name without U+0000, the one character that PostgreSQL cannot store."""
    return name.replace("\0", "\ufffd")
