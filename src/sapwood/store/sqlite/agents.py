"""The list of agents: facts, pages, names and kin."""

import sqlite3

from sapwood.core.ids import AgentId, Space
from sapwood.core.log import Facts

__all__ = [
    "advance_agent",
    "ancestors",
    "descendants",
    "find_agents",
    "find_facts",
    "insert_agent",
    "list_agents",
    "list_folder",
    "list_working",
]

_COLUMNS = (
    "agent, version, status, name, parent, model, folder,"
    " created, updated, tokens, exact, unread, working, source, session"
)
_Row = tuple[str, int, str, str, str | None, str, str, int, int, int, int, int, int, str, str]
_HOUR = 3_600_000_000
_LAST_CHARACTER = "\U0010ffff"


def insert_agent(connection: sqlite3.Connection, space: Space, expected: int, facts: Facts) -> bool:
    """A new agent; false if there is one already. `expected` is 0."""
    inserted = connection.execute(
        f"INSERT INTO agents (space, {_COLUMNS}, hour)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        (
            space,
            facts.agent,
            facts.version,
            facts.status,
            facts.name,
            facts.parent,
            facts.model,
            facts.folder,
            facts.created,
            facts.updated,
            facts.tokens,
            facts.exact,
            facts.unread,
            facts.working,
            facts.source,
            facts.session,
            _hour(facts),
        ),
    )
    return inserted.rowcount == 1


def advance_agent(
    connection: sqlite3.Connection, space: Space, expected: int, facts: Facts
) -> bool:
    """New facts of an agent at version `expected`; false if it is not."""
    listed = connection.execute(
        "UPDATE agents SET version = ?, model = ?, updated = ?, tokens = ?,"
        " exact = ?, unread = ? WHERE space = ? AND agent = ? AND version = ?"
        " RETURNING status, name, parent, created, working, folder, hour",
        (
            facts.version,
            facts.model,
            facts.updated,
            facts.tokens,
            facts.exact,
            facts.unread,
            space,
            facts.agent,
            expected,
        ),
    ).fetchone()
    # These are indexed and seldom change; setting them would rewrite the indexes each time.
    wanted = (
        *(facts.status, facts.name, facts.parent, facts.created, facts.working),
        *(facts.folder, _hour(facts)),
    )
    if listed and listed != wanted:
        connection.execute(
            "UPDATE agents SET status = ?, name = ?, parent = ?, created = ?, working = ?,"
            " folder = ?, hour = ? WHERE space = ? AND agent = ?",
            (*wanted, space, facts.agent),
        )
    return listed is not None


def _hour(facts: Facts) -> int:
    """The hour of the last event."""
    return facts.updated // _HOUR


def find_facts(connection: sqlite3.Connection, space: Space, agent: AgentId) -> Facts | None:
    """The facts of one agent."""
    row = connection.execute(
        f"SELECT {_COLUMNS} FROM agents WHERE space = ? AND agent = ?", (space, agent)
    ).fetchone()
    return _facts(row) if row else None


def list_agents(
    connection: sqlite3.Connection,
    space: Space,
    after: Facts | None,
    limit: int,
    parent: AgentId | None,
    status: str | None,
) -> list[Facts]:
    """A page of the list, newest first."""
    where, values = ["space = ?"], list[str | int]([space])
    if after is not None:
        where.append("(created, agent) < (?, ?)")
        values += [after.created, after.agent]
    if parent is not None:
        where.append("parent = ?")
        values.append(parent)
    if status is not None:
        where.append("status = ?")
        values.append(status)
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM agents WHERE {' AND '.join(where)}"
        " ORDER BY created DESC, agent DESC LIMIT ?",
        (*values, limit),
    )
    return [_facts(row) for row in rows]


def list_folder(
    connection: sqlite3.Connection,
    space: Space,
    folder: str,
    after: Facts | None,
    limit: int,
    status: str | None,
) -> list[Facts]:
    """A page of the root agents of a folder, last written to first."""
    where = ["space = ?", "folder = ?", "parent IS NULL", "folder <> ''"]
    values: list[str | int] = [space, folder]
    if after is not None:
        where.append("hour <= ? AND (updated, agent) < (?, ?)")
        values += [_hour(after), after.updated, after.agent]
    if status is not None:
        where.append("status = ?")
        values.append(status)
    # By the hour first, as the index has it: what is sorted then is only those of one hour.
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM agents WHERE {' AND '.join(where)}"
        " ORDER BY hour DESC, updated DESC, agent DESC LIMIT ?",
        (*values, limit),
    )
    return [_facts(row) for row in rows]


def list_working(
    connection: sqlite3.Connection, space: Space, after: AgentId | None, limit: int
) -> list[Facts]:
    """A page of those that have work to do."""
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM agents"
        " WHERE space = ? AND agent > ? AND working AND status = 'running'"
        " ORDER BY agent LIMIT ?",
        (space, after or "", limit),
    )
    return [_facts(row) for row in rows]


def find_agents(connection: sqlite3.Connection, space: Space, name: str, limit: int) -> list[Facts]:
    """The agent with this id; else those with this name; else those whose id starts so."""
    if exact := find_facts(connection, space, AgentId(name)):
        return [exact]
    if not name:
        return []
    newest = "ORDER BY created DESC, agent DESC LIMIT ?"
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM agents WHERE space = ? AND name = ? AND name <> '' {newest}",
        (space, name, limit),
    ).fetchall()
    rows = rows or connection.execute(
        f"SELECT {_COLUMNS} FROM agents WHERE space = ? AND agent >= ? AND agent < ? {newest}",
        (space, name, name + _LAST_CHARACTER, limit),
    )
    return [_facts(row) for row in rows]


def ancestors(connection: sqlite3.Connection, space: Space, agent: AgentId) -> list[AgentId]:
    """The parent, its parent, and so on."""
    rows = connection.execute(
        "WITH RECURSIVE kin (agent, distance) AS ("
        "  SELECT parent, 1 FROM agents WHERE space = ?1 AND agent = ?2 AND parent IS NOT NULL"
        "  UNION ALL"
        "  SELECT agents.parent, distance + 1 FROM kin JOIN agents"
        "  ON agents.space = ?1 AND agents.agent = kin.agent AND agents.parent IS NOT NULL"
        ") SELECT agent FROM kin ORDER BY distance",
        (space, agent),
    )
    return [AgentId(row[0]) for row in rows]


def descendants(connection: sqlite3.Connection, space: Space, agent: AgentId) -> list[AgentId]:
    """The children, their children, and so on."""
    rows = connection.execute(
        "WITH RECURSIVE kin (agent, distance) AS ("
        "  SELECT agent, 1 FROM agents WHERE space = ?1 AND parent = ?2"
        "  UNION ALL"
        "  SELECT agents.agent, distance + 1 FROM kin JOIN agents"
        "  ON agents.space = ?1 AND agents.parent = kin.agent"
        ") SELECT agent FROM kin ORDER BY distance",
        (space, agent),
    )
    return [AgentId(row[0]) for row in rows]


def _facts(row: _Row) -> Facts:
    agent, version, status, name, parent, model, folder = row[:7]
    created, updated, tokens, exact, unread, working, source, session = row[7:]
    assert status == "running" or status == "archived" or status == "killed"
    return Facts(
        AgentId(agent),
        version,
        status,
        name,
        AgentId(parent) if parent is not None else None,
        model,
        folder,
        created,
        updated,
        tokens,
        bool(exact),
        unread,
        bool(working),
        source,
        session,
    )
