"""Snapshots: saved, found, never needed."""

import sqlite3

from sapwood.core.ids import AgentId, Space
from sapwood.core.log import Snapshot

__all__ = ["find_snapshot", "insert_snapshot"]


def insert_snapshot(connection: sqlite3.Connection, space: Space, snapshot: Snapshot) -> None:
    """Keeps a snapshot; one that is there already is as good."""
    connection.execute(
        "INSERT INTO snapshots VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        (space, snapshot.agent, snapshot.schema, snapshot.version, snapshot.data),
    )


def find_snapshot(
    connection: sqlite3.Connection, space: Space, agent: AgentId, schema: str, at: int | None
) -> Snapshot | None:
    """The newest one of this schema, at or before a version."""
    row = connection.execute(
        "SELECT version, data FROM snapshots WHERE space = ? AND agent = ? AND schema = ?"
        " AND version <= ? ORDER BY version DESC LIMIT 1",
        (space, agent, schema, 2**62 if at is None else at),
    ).fetchone()
    return Snapshot(agent, row[0], schema, row[1]) if row else None
