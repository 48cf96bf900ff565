"""Snapshots: folds that need not be repeated. Losing one loses time only."""

from sapwood.core.ids import AgentId, Space
from sapwood.core.log import Snapshot
from sapwood.store.postgres.reading import FOREVER
from sapwood.store.postgres.sessions import Readers

__all__ = ["newest", "save"]

_NEWEST = """
    SELECT version, data FROM sapwood.snapshots
    WHERE space = $1 AND agent = $2 AND schema = $3 AND version <= $4
    ORDER BY version DESC LIMIT 1
"""
_SAVE = """
    INSERT INTO sapwood.snapshots (space, agent, schema, version, data)
    VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING
"""


async def newest(
    readers: Readers, space: Space, agent: AgentId, schema: str, at: int | None
) -> Snapshot | None:
    """The newest at or before a version."""
    row = await readers.fetchrow(_NEWEST, space, agent, schema, FOREVER if at is None else at)
    return Snapshot(agent, row["version"], schema, row["data"]) if row else None


async def save(readers: Readers, space: Space, snapshot: Snapshot) -> None:
    """Keeps it, unless the same one is kept already."""
    await readers.fetch(
        _SAVE, space, snapshot.agent, snapshot.schema, snapshot.version, snapshot.data
    )
