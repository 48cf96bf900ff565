"""Encrypted spaces in PostgreSQL: what the database refuses, and what each role may do."""

from typing import TypeAlias

import asyncpg
import pytest

from sapwood.core.ids import AgentId, Space
from sapwood.core.log_values import AgentSummary, LogError
from sapwood.store.master_keys import MasterKeys
from sapwood.store.postgres import PostgresLog
from sapwood.turns.log import Log
from tests.store.backends import TEST_KEY
from tests.store.contract import grow, start
from tests.store.postgres.roles import granted_roles, login

Owner: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
ADA, BOB = AgentId("ada"), AgentId("bob")
MASTERS = MasterKeys([TEST_KEY], "*")


async def test_programs_of_the_schema_before_cannot_store_plain_words(
    owner: Owner, log: Log, space: Space, postgres_database: str
) -> None:
    """They know no keys: they would insert and update facts as they are."""
    keyed = await PostgresLog.open(postgres_database, masters=MASTERS)
    await start(keyed, space, ADA, "needle")
    summary = '{"agent":"bob","version":1,"name":"needle"}'
    with pytest.raises(asyncpg.PostgresError, match="encrypted"):
        await owner.execute(
            "INSERT INTO sapwood.agents (space, agent, version, facts, name, status, created)"
            " VALUES ($1, 'bob', 1, $2, 'needle', 'running', 1)",
            *(space, summary),
        )
    with pytest.raises(asyncpg.PostgresError, match="encrypted"):
        await owner.execute(
            "UPDATE sapwood.agents SET facts = $2, version = version + 1 WHERE space = $1",
            *(space, summary),
        )
    with pytest.raises(LogError, match="this program has no key"):
        await start(log, space, BOB, "needle")
    await grow(keyed, space, ADA, "another")
    assert len(await keyed.read(space, ADA)) == 2
    await keyed.close()


async def test_a_space_with_agents_gets_no_key(log: Log, owner: Owner, space: Space) -> None:
    await start(log, space, ADA, "plain")
    await owner.execute(
        "INSERT INTO sapwood.space_keys (space, id, master, wrapped) VALUES ($1, 'a', 'b', 'c')",
        space,
    )
    query = "SELECT count(*) FROM sapwood.space_keys WHERE space = $1"
    assert await owner.fetchval(query, space) == 0


async def test_a_worker_makes_keys_and_a_reader_needs_none_of_them(
    log: Log, space: Space, postgres_dsn: str, postgres_database: str
) -> None:
    logins = ("keys_worker IN ROLE sapwood_worker", "keys_reader IN ROLE sapwood_reader")
    async with granted_roles(postgres_dsn, postgres_database, *logins):
        worker = await PostgresLog.open(login(postgres_database, "keys_worker"), masters=MASTERS)
        await start(worker, space, ADA, "needle", "x" * 5000)
        walled = await PostgresLog.open(
            login(postgres_database, "keys_worker"),
            reader=login(postgres_database, "keys_reader"),
            masters=MASTERS,
        )
        assert await walled.read(space, ADA) == await worker.read(space, ADA)
        assert [each.agent for each in await walled.agents(space)] == [ADA]
        assert len(await walled.search(space, "needle")) == 1
        for each in (worker, walled):
            await each.close()
    assert isinstance(await _stored(postgres_database, space), AgentSummary)


async def _stored(dsn: str, space: Space) -> AgentSummary | None:
    keyed = await PostgresLog.open(dsn, masters=MASTERS)
    try:
        return await keyed.summary(space, ADA)
    finally:
        await keyed.close()
