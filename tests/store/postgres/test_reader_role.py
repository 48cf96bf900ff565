"""A login of the role `sapwood_reader` sees one space at a time, whatever a statement asks for."""

from collections.abc import AsyncGenerator
from typing import TypeAlias

import asyncpg
import pytest

from sapwood.core.content import Text
from sapwood.core.ids import AgentId, CommandId, Space
from sapwood.core.live_words import LiveWords
from sapwood.core.log_values import LogError, Snapshot
from sapwood.store.postgres import PostgresLog, event_table
from sapwood.turns.log import Log
from tests.store.contract import grow, start, take
from tests.store.postgres.roles import granted_roles, login

Owner: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
ADA, BOB = AgentId("ada"), AgentId("bob")
OURS, THEIRS = Space("ours"), Space("it's \\theirs")
_TABLES = """
    SELECT relname FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid
    WHERE relnamespace = 'sapwood'::regnamespace AND relkind IN ('r', 'p') AND attname = 'space'
        AND has_table_privilege(pg_class.oid, 'SELECT') ORDER BY relname
"""


@pytest.fixture
async def reader(log: Log, postgres_dsn: str, postgres_database: str) -> AsyncGenerator[str]:
    """The address for a reader. Both spaces have an agent."""
    name = "sapwood_test_reader"
    async with granted_roles(postgres_dsn, postgres_database, f"{name} IN ROLE sapwood_reader"):
        for space, agent in ((OURS, ADA), (THEIRS, BOB)):
            if await log.summary(space, agent) is None:
                await start(log, space, agent, "needle", "x" * 5000)
                await log.save_snapshot(space, Snapshot(agent, 2, "1", b"data"))
        yield login(postgres_database, name)


async def seen(session: Owner, table: str, space: str | None) -> set[str]:
    """The spaces of which the reader sees rows, in a transaction for one space."""
    async with session.transaction():
        if space is not None:
            await session.fetch("SELECT set_config('sapwood.space', $1, true)", space)
        rows = await session.fetch(f"SELECT DISTINCT space FROM sapwood.{table}")
    return {row["space"] for row in rows}


async def test_a_reader_sees_the_rows_of_its_space_only(reader: str) -> None:
    session: Owner = await asyncpg.connect(reader)
    tables = [row["relname"] for row in await session.fetch(_TABLES)]
    full = {"agents", "contents", "events", "receipts", "snapshots"}
    assert full < set(tables)
    assert not any(name[-1].isdigit() for name in tables), "a partition has no policy"
    for table in tables:
        assert await seen(session, table, None) == set()
        for space in (OURS, THEIRS):
            assert await seen(session, table, space) <= {space}, table
            if table in full:
                assert await seen(session, table, space) == {space}, table
        assert await seen(session, table, None) == set(), "the space outlived its transaction"
    await session.close()


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM sapwood.events_0",
        "SELECT * FROM sapwood.tokens",
        "SELECT * FROM sapwood.space_keys",
        "SELECT * FROM sapwood.search",
        "INSERT INTO sapwood.agents (space, agent) VALUES ('ours', 'x')",
        "DELETE FROM sapwood.snapshots",
        "ALTER TABLE sapwood.events DISABLE ROW LEVEL SECURITY",
        "DROP POLICY own_space ON sapwood.events",
        "SET ROLE sapwood_worker",
        "SET row_security = off; SELECT * FROM sapwood.events",
    ],
)
async def test_a_reader_can_do_nothing_else(reader: str, statement: str) -> None:
    session: Owner = await asyncpg.connect(reader)
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await session.execute(statement)
    await session.close()


async def test_a_log_with_a_reader_reads_what_another_does(
    log: Log, reader: str, postgres_database: str, space: Space
) -> None:
    walled = await PostgresLog.open(postgres_database, reader=reader)
    await start(log, space, ADA, "needle", "y" * 5000)
    await grow(log, space, ADA, "another needle")
    await log.save_snapshot(space, Snapshot(ADA, 3, "1", b"data"))
    for each in (log, walled):
        assert len(await each.read(space, ADA)) == 3
    assert await walled.read(space, ADA) == await log.read(space, ADA)
    assert await walled.summary(space, ADA) == await log.summary(space, ADA)
    for order in ("created", "updated"):
        assert await walled.agents(space, order=order) == await log.agents(space, order=order)
    assert await walled.find(space, "ada") == await log.find(space, "ada")
    assert await walled.family(space, ADA) == await log.family(space, ADA)
    assert await walled.snapshot(space, ADA, "1") == Snapshot(ADA, 3, "1", b"data")
    assert len(await walled.search(space, "needle")) == 2
    assert await take(walled.follow(space, ADA), 3) == await log.read(space, ADA)
    assert await take(walled.tail(space), 3) == await take(log.tail(space), 3)
    assert await walled.end(space) == await log.end(space)
    words = LiveWords(3, CommandId("words"), (Text("arriving"),))
    assert await walled.save_words(space, ADA, 3, words, None)
    assert await walled.words(space, ADA) == words
    assert await take(walled.watch(space, ADA, 3), 1) == [words]
    assert await walled.read(THEIRS, BOB) == await log.read(THEIRS, BOB)
    await grow(walled, space, ADA, "written by it")
    assert len(await walled.read(space, ADA)) == 4
    await walled.close()


async def test_a_statement_that_forgets_the_space_shows_nothing_of_another(
    log: Log, reader: str, postgres_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    right: str = vars(event_table)["_FORWARD"]
    wrong = right.replace("space = $1", "$1::text IS NOT NULL")
    monkeypatch.setattr(event_table, "_FORWARD", wrong)
    walled = await PostgresLog.open(postgres_database, reader=reader)
    assert await log.read(OURS, BOB), "without a reader, the wrong statement shows it"
    assert await walled.read(OURS, BOB) == []
    assert await walled.read(THEIRS, BOB)
    await walled.close()


@pytest.mark.parametrize("role", ["", "sapwood_worker", "sapwood_reader, sapwood_worker"])
async def test_a_login_that_sees_more_is_refused(
    role: str, log: Log, postgres_dsn: str, postgres_database: str
) -> None:
    name = "sapwood_test_open"
    rights = f"IN ROLE {role}" if role else "SUPERUSER"
    async with granted_roles(postgres_dsn, postgres_database, f"{name} {rights}"):
        with pytest.raises(LogError, match="is not restricted to one space"):
            await PostgresLog.open(postgres_database, reader=login(postgres_database, name))
    with pytest.raises(LogError, match="is not restricted to one space"):
        await PostgresLog.open(postgres_database, reader=postgres_database)
