"""The database itself refuses to change recorded events, also through partitions."""

from typing import TypeAlias

import asyncpg
import pytest

from sapwood.core.ids import AgentId, Space
from sapwood.store.postgres import PostgresLog
from sapwood.turns.log import Log
from tests.store.contract import grow, start

ADA = AgentId("ada")
Owner: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
_REFUSED = (asyncpg.CheckViolationError, asyncpg.ObjectNotInPrerequisiteStateError)
_COPY = """
    INSERT INTO sapwood.events (space, agent, version, kind, data, at, actor, command)
    SELECT space, agent, version{more}, kind, '{{}}', at, actor, command FROM sapwood.events
    WHERE space = $1 AND version = 1
"""
_PLACED = """
    INSERT INTO sapwood.events
        (space, agent, version, kind, data, at, actor, command, position, tx)
    SELECT space, agent, version + 10, kind, data, at, actor, command, {position}, {tx}
    FROM sapwood.events WHERE space = $1 AND version = 1
"""


async def partition_of(owner: Owner, space: Space) -> str:
    return await owner.fetchval(
        "SELECT tableoid::regclass::text FROM sapwood.events WHERE space = $1 LIMIT 1", space
    )


@pytest.mark.parametrize("replica", [False, True])
@pytest.mark.parametrize(
    "forgery",
    [
        "UPDATE sapwood.events SET data = '{}'",
        "UPDATE sapwood.events SET version = version + 10",
        "UPDATE sapwood.events SET tx = '3', position = 0",
        "DELETE FROM sapwood.events",
        "DELETE FROM sapwood.events WHERE version = 1",
        "TRUNCATE sapwood.events",
        "TRUNCATE sapwood.events CASCADE",
        "UPDATE {partition} SET data = '{{}}'",
        "DELETE FROM {partition}",
        "DELETE FROM ONLY {partition}",
        "TRUNCATE {partition}",
        "UPDATE sapwood.contents SET hash = hash",
        "UPDATE sapwood.contents SET data = ''",
        "DELETE FROM sapwood.contents",
        "TRUNCATE sapwood.contents",
        "UPDATE sapwood.receipts SET data = '{}'",
        "DELETE FROM sapwood.receipts",
        "TRUNCATE sapwood.receipts",
    ],
)
async def test_the_past_cannot_be_changed(
    log: Log, space: Space, owner: Owner, forgery: str, replica: bool
) -> None:
    """A replication session, which skips ordinary triggers, cannot change it either."""
    await start(log, space, ADA, "one", "two", "x" * 5000)
    before = await log.read(space, ADA)
    if replica:
        await owner.execute("SET session_replication_role = replica")
    statement = forgery.replace("{partition}", await partition_of(owner, space))
    with pytest.raises(asyncpg.RestrictViolationError, match="append-only"):
        await owner.execute(statement.replace("{{}}", "{}"))
    assert await log.read(space, ADA) == before
    await grow(log, space, ADA, "three")
    assert len(await log.read(space, ADA)) == 4


async def test_every_partition_is_guarded(log: Log, owner: Owner) -> None:
    unguarded = await owner.fetch(
        """
        SELECT tree.relid::regclass FROM (VALUES ('events'), ('contents'), ('receipts')) AS name,
            pg_partition_tree(('sapwood.' || name.column1)::regclass) AS tree
        WHERE 2 <> (
            SELECT count(*) FROM pg_trigger
            WHERE tgrelid = tree.relid AND tgenabled = 'A' AND tgname LIKE 'refuse%'
        )
        """
    )
    assert unguarded == []


async def test_an_insert_cannot_replace(log: Log, space: Space, owner: Owner) -> None:
    await start(log, space, ADA, "one")
    with pytest.raises(asyncpg.UniqueViolationError):
        await owner.execute(_COPY.format(more=""), space)
    with pytest.raises(asyncpg.RestrictViolationError, match="append-only"):
        await owner.execute(
            _COPY.format(more="") + "ON CONFLICT (space, agent, version) DO UPDATE SET data = ''",
            space,
        )


@pytest.mark.parametrize(
    ("position", "tx"),
    [
        ("1", "pg_current_xact_id()"),
        ("nextval('sapwood.positions') + 1", "pg_current_xact_id()"),
        ("nextval('sapwood.positions')", "'3'"),
        ("nextval('sapwood.positions')", "'9000000000'"),
    ],
)
async def test_the_position_of_an_event_cannot_be_chosen(
    log: Log, space: Space, owner: Owner, position: str, tx: str
) -> None:
    await start(log, space, ADA, "one")
    with pytest.raises(_REFUSED):
        await owner.execute(_PLACED.format(position=position, tx=tx), space)
    partition = await partition_of(owner, space)
    forged = _PLACED.format(position=position, tx=tx)
    with pytest.raises(_REFUSED):
        await owner.execute(forged.replace("INTO sapwood.events\n", f"INTO {partition}\n"), space)


async def test_only_old_receipts_of_ids_that_sapwood_made_up_expire(
    log: Log, space: Space, owner: Owner
) -> None:
    """Those that a client, an import or a file has, those of a day, and of a move, stay."""
    moving, own = Space(f"{space}-moving"), "0123456789abcdef01234567"
    stored = [
        (space, own, 31),
        (space, own.replace("0", "f"), 29),
        (space, f"{own[:-1]}g", 99),
        (space, f"{own}0", 99),
        (space, f"import-{own}", 99),
        (space, f"ada:3:{own}", 99),
        (moving, own, 99),
    ]
    await owner.executemany(
        "INSERT INTO sapwood.receipts (space, command, data, at)"
        " VALUES ($1, $2, '{}', now() - make_interval(days => $3))",
        stored,
    )
    await owner.execute(
        "INSERT INTO sapwood.moves (space, id, state) VALUES ($1, 'm', 'leaving')", moving
    )
    assert isinstance(log, PostgresLog)
    left = f"SELECT space, command FROM sapwood.receipts WHERE starts_with(space, '{space}')"
    assert await log.expire_receipts(30) == 1
    assert {tuple(row) for row in await owner.fetch(left)} == {each[:2] for each in stored[1:]}
    await owner.execute("DELETE FROM sapwood.moves WHERE space = $1", moving)
    await grow(log, space, ADA, "today")
    assert await log.expire_receipts(0) == 2
    assert len(await owner.fetch(left)) == len(stored) - 3 + 1
    forgery = "DELETE FROM sapwood.receipts WHERE at > now() - interval '1 day'"
    await owner.execute("SET sapwood.expiring = 'on'")
    with pytest.raises(asyncpg.RestrictViolationError):
        await owner.execute(forgery)
