"""The contract of a log: the database itself refuses to change what was recorded."""

import pytest

from sapwood.core.ids import AgentId, Space
from sapwood.turns.log import Log
from tests.store.contract import Backend, grow, on_databases, start

ADA = AgentId("ada")

# Each statement would change recorded events. The owner of the database runs it.
SQLITE = (
    "UPDATE events SET data = '{}'",
    "UPDATE events SET version = version + 10",
    "DELETE FROM events",
    "DELETE FROM events WHERE version = 1",
    "INSERT OR REPLACE INTO events SELECT * FROM events",
    "REPLACE INTO events SELECT * FROM events WHERE version = 1",
    """INSERT OR REPLACE INTO events (space, agent, version, kind, data, at, actor, command)
       SELECT space, agent, version, kind, '{}', at, actor, command FROM events""",
    """INSERT OR IGNORE INTO events (space, agent, version, kind, data, at, actor, command)
       SELECT space, agent, version + 10, kind, data, at, actor, command FROM events""",
    """INSERT INTO events (space, agent, version, kind, data, at, actor, command)
       SELECT space, agent, version, kind, data, at, actor, command FROM events WHERE true
       ON CONFLICT DO UPDATE SET data = '{}'""",
    """INSERT INTO events
       SELECT position - 1000, space, agent, version + 1, kind, data, contents, at, actor,
       command FROM events ORDER BY position DESC LIMIT 1""",
    "UPDATE contents SET data = x'00'",
    "DELETE FROM contents",
    "INSERT OR REPLACE INTO contents SELECT space, hash, x'00' FROM contents",
)
POSTGRES = (
    "UPDATE events SET version = version + 10",
    "DELETE FROM events",
    "DELETE FROM events WHERE version = 1",
    "TRUNCATE events",
    "TRUNCATE events CASCADE",
    "UPDATE contents SET hash = hash",
    "DELETE FROM contents",
    "TRUNCATE contents",
)
FORGERIES: list[tuple[str, str]] = [
    *(("sqlite", forgery) for forgery in SQLITE),
    *(("postgres", forgery) for forgery in POSTGRES),
]


@pytest.mark.parametrize(("backend", "forgery"), FORGERIES, indirect=["backend"])
async def test_the_past_cannot_be_changed(
    backend: Backend, log: Log, space: Space, forgery: str
) -> None:
    await start(log, space, ADA, "one", "two", "x" * 5000)
    before = await log.read(space, ADA)
    with pytest.raises(Exception, match="append-only"):
        await backend.execute(forgery)
    assert await log.read(space, ADA) == before


@on_databases
async def test_a_refused_forgery_leaves_the_log_usable(
    backend: Backend, log: Log, space: Space
) -> None:
    await start(log, space, ADA, "one")
    with pytest.raises(Exception, match="append-only"):
        await backend.execute("DELETE FROM events")
    await grow(log, space, ADA, "two")
    assert len(await log.read(space, ADA)) == 2
