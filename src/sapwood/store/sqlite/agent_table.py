"""Statements about the table of agents: insert, update, list, find by name, family."""

from collections.abc import Iterable
from sqlite3 import Connection

import msgspec

from sapwood.core.ids import AgentId, Space
from sapwood.core.log_values import AgentSummary, Order
from sapwood.core.tags import Tags, key_of, keys_of
from sapwood.store.space_cipher import open_summary, stored_name
from sapwood.store.sqlite.key_table import cipher_of

_NAMES = (
    *("agent", "version", "status", "name", "parent", "model", "folder", "created", "updated"),
    *("tokens", "exact", "unread", "working", "source", "session", "worktree", "branch", "tags"),
)
_COLUMNS = ", ".join(_NAMES)
_INDEXED = (
    *("status", "name", "parent", "working"),
    *("folder", "hour", "worktree", "branch", "tags"),
)
"""These columns are indexed and seldom change; setting them always would rewrite the indexes."""

_Row = tuple[
    *tuple[str, int, str, str, str | None, str, str, int, int, int, int, int, int],
    *tuple[str, str, str, str, str],
]
_STATUSES = ("running", "archived", "killed")
_HOUR_MICROSECONDS = 3_600_000_000
_LAST_CHARACTER = "\U0010ffff"
_SPACES = """
    WITH RECURSIVE found (space) AS (
        SELECT min(space) FROM agents WHERE space > ?1
        UNION ALL
        SELECT (SELECT min(space) FROM agents WHERE space > found.space)
        FROM found WHERE found.space IS NOT NULL
    ) SELECT space FROM found WHERE space IS NOT NULL LIMIT ?2
"""


def insert_agent(
    connection: Connection, space: Space, expected: int, summary: AgentSummary
) -> bool:
    """Inserts a new agent; returns false if it exists. `expected` is always 0."""
    named = ", ".join(f":{name}" for name in _NAMES)
    inserted = connection.execute(
        f"INSERT INTO agents (space, {_COLUMNS}, hour) VALUES (:space, {named}, :hour)"
        " ON CONFLICT DO NOTHING",
        _values(space, summary),
    )
    if inserted.rowcount == 1 and summary.tags is not None:
        _insert_keys(connection, space, summary)
    return inserted.rowcount == 1


_ADVANCE = (
    "UPDATE agents SET version = :version, model = :model, updated = :updated, tokens = :tokens,"
    " exact = :exact, unread = :unread"
    " WHERE space = :space AND agent = :agent AND version = :expected"
    " AND (:created = 0 OR created IN (0, :created))"
)
"""Holds for the agent that was created at this moment. The id of an erased agent may be used again,
and the new agent may be at the expected version."""
_AS_LISTED = " AND ".join((_ADVANCE, *(f"{name} IS :{name}" for name in _INDEXED)))
_LIST = (
    f"UPDATE agents SET {', '.join(f'{name} = :{name}' for name in _INDEXED)}"
    " WHERE space = :space AND agent = :agent"
)


def advance_agent(
    connection: Connection, space: Space, expected: int, summary: AgentSummary
) -> bool:
    """Updates an agent; returns false if it is another one, or not at version `expected`."""
    values = {**_values(space, summary), "expected": expected}
    if connection.execute(_AS_LISTED, values).rowcount == 1:
        return True
    if connection.execute(_ADVANCE, values).rowcount != 1:
        return False
    connection.execute(_LIST, values)
    if summary.tags is not None:
        _insert_keys(connection, space, summary)
    return True


def _values(space: Space, summary: AgentSummary) -> dict[str, object]:
    """The row of an agent, by the names of its columns."""
    return {
        **msgspec.structs.asdict(summary),
        "space": space,
        "working": _working(summary),
        "hour": _hour(summary),
        "tags": _encoded(summary.tags),
    }


def _insert_keys(connection: Connection, space: Space, summary: AgentSummary) -> None:
    """Stores the keys by which lists find the agent, in place of those that it had."""
    connection.execute(
        "DELETE FROM agent_keys WHERE space = ? AND agent = ?", (space, summary.agent)
    )
    connection.executemany(
        "INSERT INTO agent_keys (space, key, agent, status, created, hour)"
        " VALUES (?, ?, ?, ?, ?, ?)",
        [
            (space, key, summary.agent, summary.status, summary.created, _hour(summary))
            for key in keys_of(summary.tags or Tags())
        ],
    )


def _encoded(tags: Tags | None) -> str:
    return msgspec.json.encode(tags).decode() if tags is not None else ""


def _working(summary: AgentSummary) -> int:
    """The column `working`: 0 without work, 1 with work, 2 if the work waits for approval."""
    return int(summary.working) + int(summary.working and summary.asking)


def _hour(summary: AgentSummary) -> int:
    """The hour of the last event, in hours since 1970."""
    return summary.updated // _HOUR_MICROSECONDS


def find_summary(connection: Connection, space: Space, agent: AgentId) -> AgentSummary | None:
    """The summary of one agent."""
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM agents WHERE space = ? AND agent = ?", (space, agent)
    )
    return next(iter(_opened(connection, space, rows)), None)


def list_agents(
    connection: Connection,
    space: Space,
    *,
    after: AgentSummary | None = None,
    limit: int = 100,
    parent: AgentId | None = None,
    status: str | None = None,
    owner: str = "",
    label: str = "",
    order: Order = "created",
) -> list[AgentSummary]:
    """A page of agents after the last one seen, newest first."""
    key = ""
    if owner or label:
        stored = (
            _stored(connection, space, *each) for each in (("owner", owner), ("label", label))
        )
        key = key_of(*stored)
    is_by_update = order == "updated"
    if parent is not None or not (key or is_by_update):
        return _list_plain(connection, space, after, limit, parent, status, key, is_by_update)
    found: list[AgentSummary] = []
    for each in (status,) if status else _STATUSES:  # an index delivers one status in order
        found += _list_one_status(connection, space, after, limit, each, key, is_by_update)
    found.sort(
        key=lambda summary: (summary.updated if is_by_update else summary.created, summary.agent),
        reverse=True,
    )
    return found[:limit]


def _list_plain(
    connection: Connection,
    space: Space,
    after: AgentSummary | None,
    limit: int,
    parent: AgentId | None,
    status: str | None,
    key: str,
    is_by_update: bool,
) -> list[AgentSummary]:
    """A page of all agents by age, or of the children of one agent in either order."""
    column = "updated" if is_by_update else "created"
    where, values = ["space = ?"], list[str | int]([space])
    if after is not None:
        where.append(f"({column}, agent) < (?, ?)")
        values += [after.updated if is_by_update else after.created, after.agent]
    if parent is not None:
        where.append("parent = ?")
        values.append(parent)
    if status is not None:
        where.append("status = ?")
        values.append(status)
    if key:
        where.append(
            "EXISTS (SELECT 1 FROM agent_keys AS known WHERE known.space = agents.space"
            " AND known.agent = agents.agent AND known.key = ?)"
        )
        values.append(key)
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM agents WHERE {' AND '.join(where)}"
        f" ORDER BY {column} DESC, agent DESC LIMIT ?",
        (*values, limit),
    )
    return _opened(connection, space, rows)


def _list_one_status(
    connection: Connection,
    space: Space,
    after: AgentSummary | None,
    limit: int,
    status: str,
    key: str,
    is_by_update: bool,
) -> list[AgentSummary]:
    """A page of the agents with one status, and with a key if one is given."""
    columns = ", ".join(f"agents.{name}" for name in _NAMES)
    tables, at = "agents", "agents"
    where, values = ["agents.space = ?", "agents.status = ?"], list[str | int]([space, status])
    if key:
        # CROSS JOIN keeps the order of the tables, so that the keys come in the order of the index.
        tables, at = "agent_keys AS known CROSS JOIN agents", "known"
        where = [
            *("known.space = ?", "known.status = ?", "known.key = ?"),
            *("agents.space = known.space", "agents.agent = known.agent"),
        ]
        values.append(key)
    if is_by_update:
        order = f"{at}.hour DESC, agents.updated DESC, agents.agent DESC"
    else:
        order = f"{at}.created DESC, {at}.agent DESC"
    if after is not None and is_by_update:
        where.append(f"{at}.hour <= ? AND (agents.updated, agents.agent) < (?, ?)")
        values += [_hour(after), after.updated, after.agent]
    elif after is not None:
        where.append(f"({at}.created, {at}.agent) < (?, ?)")
        values += [after.created, after.agent]
    rows = connection.execute(
        f"SELECT {columns} FROM {tables} WHERE {' AND '.join(where)} ORDER BY {order} LIMIT ?",
        (*values, limit),
    )
    return _opened(connection, space, rows)


def list_folder(
    connection: Connection,
    space: Space,
    folder: str,
    *,
    after: AgentSummary | None = None,
    limit: int = 100,
    status: str | None = None,
) -> list[AgentSummary]:
    """A page of the root agents of a folder, latest event first."""
    where = ["space = ?", "folder = ?", "parent IS NULL", "folder <> ''"]
    values: list[str | int] = [space, _stored(connection, space, "folder", folder)]
    if after is not None:
        where.append("hour <= ? AND (updated, agent) < (?, ?)")
        values += [_hour(after), after.updated, after.agent]
    if status is not None:
        where.append("status = ?")
        values.append(status)
    # The index delivers the hours in order, so SQLite sorts only the rows of one hour at a time.
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM agents WHERE {' AND '.join(where)}"
        " ORDER BY hour DESC, updated DESC, agent DESC LIMIT ?",
        (*values, limit),
    )
    return _opened(connection, space, rows)


def list_working(
    connection: Connection,
    space: Space,
    *,
    after: AgentId | None = None,
    limit: int = 100,
) -> list[AgentSummary]:
    """A page of the running agents that have work to do, ordered by id."""
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM agents"
        " WHERE space = ? AND agent > ? AND working AND status = 'running'"
        " ORDER BY agent LIMIT ?",
        (space, after or "", limit),
    )
    return _opened(connection, space, rows)


def working_spaces(
    connection: Connection, *, after: Space | None = None, limit: int = 100
) -> list[Space]:
    """A page of the spaces in which an agent has work to do, ordered by name."""
    rows = connection.execute(
        "SELECT DISTINCT space FROM agents"
        " WHERE space > ? AND working AND status = 'running' ORDER BY space LIMIT ?",
        (after or "", limit),
    )
    return [Space(row[0]) for row in rows]


def list_spaces(
    connection: Connection, *, after: Space | None = None, limit: int = 100
) -> list[Space]:
    """A page of the spaces that have agents, ordered by name."""
    rows = connection.execute(_SPACES, (after or "", limit))
    return [Space(row[0]) for row in rows]


def find_agents(
    connection: Connection, space: Space, name: str, limit: int = 10
) -> list[AgentSummary]:
    """The agent with this id, or else agents with this name, or else ids with this prefix."""
    if exact := find_summary(connection, space, AgentId(name)):
        return [exact]
    if not name:
        return []
    newest = "ORDER BY created DESC, agent DESC LIMIT ?"
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM agents WHERE space = ? AND name = ? AND name <> '' {newest}",
        (space, _stored(connection, space, "name", name), limit),
    ).fetchall()
    rows = rows or connection.execute(
        f"SELECT {_COLUMNS} FROM agents WHERE space = ? AND agent >= ? AND agent < ? {newest}",
        (space, name, name + _LAST_CHARACTER, limit),
    )
    return _opened(connection, space, rows)


def ancestors(connection: Connection, space: Space, agent: AgentId) -> list[AgentId]:
    """The parent, its parent, and so on up to the root."""
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


def descendants(connection: Connection, space: Space, agent: AgentId) -> list[AgentId]:
    """The children, their children, and so on; parents before their children."""
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


def family(connection: Connection, space: Space, agent: AgentId) -> list[AgentSummary]:
    """The root and all its descendants; parents before their children."""
    columns = ", ".join(f"agents.{name}" for name in _NAMES)
    rows = connection.execute(
        "WITH RECURSIVE line (agent, parent) AS ("
        "  SELECT agent, parent FROM agents WHERE space = ?1 AND agent = ?2"
        "  UNION ALL"
        "  SELECT agents.agent, agents.parent FROM line JOIN agents"
        "  ON agents.space = ?1 AND agents.agent = line.parent"
        "), kin (agent, distance) AS ("
        "  SELECT agent, 0 FROM line WHERE parent IS NULL"
        "  UNION ALL"
        "  SELECT agents.agent, distance + 1 FROM kin JOIN agents"
        "  ON agents.space = ?1 AND agents.parent = kin.agent"
        f") SELECT {columns} FROM kin JOIN agents"
        " ON agents.space = ?1 AND agents.agent = kin.agent ORDER BY distance",
        (space, agent),
    )
    return _opened(connection, space, rows)


def _stored(connection: Connection, space: Space, what: str, text: str) -> str:
    return stored_name(cipher_of(connection, space), what, text) if text else ""


def _opened(connection: Connection, space: Space, rows: Iterable[_Row]) -> list[AgentSummary]:
    """The summaries with their words."""
    cipher = cipher_of(connection, space)
    return [open_summary(cipher, space, _summary(row)) for row in rows]


def _summary(row: _Row) -> AgentSummary:
    agent, version, status, name, parent, model, folder = row[:7]
    created, updated, tokens, exact, unread, working, source, session = row[7:15]
    worktree, branch, tags = row[15:]
    assert status == "running" or status == "archived" or status == "killed"
    return AgentSummary(
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
        working == 2,
        worktree,
        branch,
        msgspec.json.decode(tags, type=Tags) if tags else None,
    )
