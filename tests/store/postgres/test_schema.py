"""Databases of every released schema open; those of a newer Sapwood are not changed."""

import asyncio
import itertools
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import asyncpg
import pytest

from sapwood.core.ids import Space
from sapwood.core.log_values import AgentSummary, Cursor, LogError
from sapwood.store.postgres import PostgresLog, schema
from tests.store.contract import append, commit_of, prompt_event, take
from tests.store.postgres.freeze import ADA, BOB, COMMITS, RELEASED, SNAPSHOT, SPACE

if TYPE_CHECKING:
    from sapwood.store.postgres.connections import Connection

_numbers = itertools.count(1)
_SCHEMA = """
    SELECT table_name, column_name, data_type, column_default
    FROM information_schema.columns WHERE table_schema = 'sapwood' ORDER BY 1, 2
"""


@pytest.fixture
async def empty(postgres_database: str) -> AsyncGenerator[str]:
    """An empty database."""
    name = f"{urlsplit(postgres_database).path[1:]}_{next(_numbers)}"
    session: asyncpg.Connection[asyncpg.Record] = await asyncpg.connect(postgres_database)
    await session.execute(f"CREATE DATABASE {name}")
    yield urlsplit(postgres_database)._replace(path=f"/{name}").geturl()
    await session.execute(f"DROP DATABASE {name} WITH (FORCE)")
    await session.close()


async def execute(dsn: str, script: str) -> list[asyncpg.Record]:
    session: asyncpg.Connection[asyncpg.Record] = await asyncpg.connect(dsn)
    try:
        if script.lstrip().startswith("SELECT"):
            return await session.fetch(script)
        await session.execute(script)
        return []
    finally:
        await session.close()


def frozen(number: int) -> str:
    return (RELEASED / f"{number:04}.sql").read_text(encoding="utf-8")


def test_migrations_are_numbered_without_gaps() -> None:
    assert list(schema.migrations()) == list(range(1, schema.NEWEST + 1))


def test_every_released_schema_is_frozen() -> None:
    numbers = {int(file.stem) for file in RELEASED.glob("*.sql")}
    assert numbers == set(range(1, schema.NEWEST + 1))


_AT_ONCE = (1, schema.NEWEST - 1, schema.NEWEST)
"""The schemas that the check of a change tries; the others are tried at night."""


@pytest.mark.parametrize(
    "number",
    [
        each if each in _AT_ONCE else pytest.param(each, marks=pytest.mark.night)
        for each in range(1, schema.NEWEST + 1)
    ],
)
async def test_a_log_of_every_released_schema_opens_and_goes_on(number: int, empty: str) -> None:
    await execute(empty, frozen(number))
    log = await PostgresLog.open(empty, migrate=True)
    for agent in (ADA, BOB):
        appends = [each for commit in COMMITS for each in commit.appends if each.agent == agent]
        assert await log.read(SPACE, agent) == [event for each in appends for event in each.events]
    assert await log.summary(SPACE, ADA) == AgentSummary(ADA, 4, name="ada!", created=3)
    for commit in COMMITS:
        assert await log.receipt(SPACE, commit.receipt.command) == commit.receipt
    assert await log.snapshot(SPACE, ADA, "1") == SNAPSHOT
    assert len(await log.search(SPACE, "needle")) == 4
    assert (
        await log.commit(SPACE, commit_of(append(ADA, prompt_event("a needle"), expected=4)))
        is None
    )
    assert len(await log.search(SPACE, "needle")) == 5
    assert len(await take(log.tail(SPACE), 9)) == 9
    await log.close()
    newest = await execute(empty, "SELECT max(number) FROM sapwood.migrations")
    assert newest[0][0] == schema.NEWEST
    with pytest.raises(asyncpg.PostgresError, match="append-only"):
        await execute(empty, "DELETE FROM sapwood.events")


@pytest.mark.parametrize("number", range(1, 4))
async def test_a_cursor_from_before_the_migration_still_goes_on_and_a_later_one_does_not(
    number: int, empty: str
) -> None:
    await execute(empty, frozen(number))
    places = await execute(empty, _PLACES)
    log = await PostgresLog.open(empty, migrate=True)
    whole = await take(log.tail(SPACE), 8)
    for place in range(1, 8):
        old = Cursor(*places[place - 1])
        assert await take(log.tail(SPACE, old), 8 - place) == whole[place:]
    await log.commit(SPACE, commit_of(append(ADA, prompt_event("new"), expected=4)))
    assert (await take(log.tail(SPACE, Cursor(*places[7])), 1))[0].cursor == Cursor(9)
    last = (await execute(empty, _PLACES))[8]
    for wrong in (Cursor(*last), Cursor(last[0], last[1] + 1)):
        with pytest.raises(LogError, match="belongs to another space"):
            await take(log.tail(SPACE, wrong), 1)
    with pytest.raises(LogError, match="belongs to another space"):
        await take(log.tail(Space("other"), Cursor(*places[2])), 1)
    await log.close()


_PLACES = "SELECT tx::text::bigint, position FROM sapwood.events ORDER BY events.tx, position"


async def test_a_new_database_has_the_tables_that_a_migrated_one_has(
    empty: str, postgres_database: str
) -> None:
    await execute(empty, frozen(schema.NEWEST))
    await (await PostgresLog.open(postgres_database)).close()
    assert await execute(empty, _SCHEMA) == await execute(postgres_database, _SCHEMA)


async def test_many_may_open_an_empty_database_at_once(empty: str) -> None:
    logs = await asyncio.gather(*(PostgresLog.open(empty) for _ in range(6)))
    for log in logs:
        assert await log.agents(SPACE) == []
        await log.close()
    found = await execute(empty, "SELECT count(*) FROM sapwood.migrations")
    assert found[0][0] == schema.NEWEST


async def test_nobody_sees_a_half_made_database(
    empty: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: set[int] = set()
    run = schema._run  # pyright: ignore[reportPrivateUsage]

    async def watched(connection: "Connection", number: int, name: str) -> None:
        await run(connection, number, name)
        seen.add(await schema.read_schema_number(empty))

    monkeypatch.setattr(schema, "_run", watched)
    await (await PostgresLog.open(empty)).close()
    assert seen == {0}
    assert await schema.read_schema_number(empty) == schema.NEWEST


async def test_a_database_of_a_newer_sapwood_is_refused(empty: str) -> None:
    await (await PostgresLog.open(empty)).close()
    await execute(empty, "INSERT INTO sapwood.migrations (number, name) VALUES (99, '0099_x.sql')")
    before = await execute(empty, _SCHEMA)
    with pytest.raises(
        LogError, match=r"schema 99, from a newer version of Sapwood.*Nothing was changed"
    ):
        await PostgresLog.open(empty)
    assert await execute(empty, _SCHEMA) == before


async def test_a_newer_database_is_opened_if_its_migrations_allow_it(empty: str) -> None:
    await (await PostgresLog.open(empty)).close()
    await execute(
        empty,
        "INSERT INTO sapwood.migrations (number, name, oldest)"
        f" VALUES (99, '0099_x.sql', {schema.NEWEST})",
    )
    log = await PostgresLog.open(empty)
    assert await log.agents(SPACE) == []
    await log.close()


async def test_programs_of_the_schema_before_open_a_migrated_database(
    empty: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await (await PostgresLog.open(empty)).close()
    monkeypatch.setattr(schema, "NEWEST", schema.NEWEST - 1)
    log = await PostgresLog.open(empty)
    assert await log.commit(SPACE, commit_of(append(ADA, prompt_event("needle")))) is None
    assert len(await log.search(SPACE, "needle")) == 1
    await log.close()


async def test_an_older_database_is_not_migrated_by_opening_it(empty: str) -> None:
    await execute(empty, frozen(4))
    before = await execute(empty, _SCHEMA)
    with pytest.raises(LogError, match="sapwood migrate"):
        await PostgresLog.open(empty)
    assert await execute(empty, _SCHEMA) == before


async def test_those_who_may_read_events_may_read_the_tables_of_a_migration(empty: str) -> None:
    await execute(empty, frozen(4))
    await execute(empty, "GRANT SELECT ON sapwood.events TO PUBLIC")
    await (await PostgresLog.open(empty, migrate=True)).close()
    (row,) = await execute(empty, "SELECT has_table_privilege('public', 'sapwood.gaps', 'SELECT')")
    assert row[0]


_LOCKING = 17
"""A migration that needs a lock on a table."""


async def test_commits_do_not_wait_behind_a_migration_that_waits_for_a_backup(
    empty: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schema, "_LOCK_TIMEOUT", "100ms")
    monkeypatch.setattr(schema, "_LOCK_PAUSE", 0.1)
    await execute(empty, frozen(_LOCKING - 1))
    backup, session = await asyncpg.connect(empty), await asyncpg.connect(empty)
    tries = 0
    run = schema._run_now  # pyright: ignore[reportPrivateUsage]

    async def counted(connection: "Connection", number: int, name: str) -> None:
        nonlocal tries
        tries += number == _LOCKING
        await run(connection, number, name)

    monkeypatch.setattr(schema, "_run_now", counted)
    try:
        async with backup.transaction():  # what pg_dump holds until it ends
            await backup.execute("LOCK TABLE sapwood.agents IN ACCESS SHARE MODE")
            migrating = asyncio.ensure_future(PostgresLog.open(empty, migrate=True))
            while tries < 3:
                async with asyncio.timeout(2):
                    await session.execute("UPDATE sapwood.agents SET version = version")
                await asyncio.sleep(0.01)
        await (await migrating).close()
    finally:
        await backup.close()
        await session.close()
    assert await schema.read_schema_number(empty) == schema.NEWEST


async def test_a_migration_says_that_a_backup_kept_it_from_its_tables(
    empty: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schema, "_LOCK_TIMEOUT", "50ms")
    monkeypatch.setattr(schema, "_LOCK_TRIES", 2)
    monkeypatch.setattr(schema, "_LOCK_PAUSE", 0.0)
    await execute(empty, frozen(_LOCKING - 1))
    backup = await asyncpg.connect(empty)
    try:
        async with backup.transaction():
            await backup.execute("LOCK TABLE sapwood.agents IN ACCESS SHARE MODE")
            with pytest.raises(LogError, match="such as a backup"):
                await PostgresLog.open(empty, migrate=True)
    finally:
        await backup.close()
    assert await schema.read_schema_number(empty) == _LOCKING - 1


async def test_a_migration_that_fails_changes_nothing(
    empty: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(name: str) -> str:
        return f"CREATE TABLE sapwood.half (x int); SELECT 1 / 0; -- {name}"

    monkeypatch.setattr(schema, "script", broken)
    with pytest.raises(LogError, match="division by zero"):
        await PostgresLog.open(empty)
    assert not await execute(empty, _SCHEMA)
    monkeypatch.undo()
    await (await PostgresLog.open(empty)).close()


async def test_a_database_in_another_encoding_is_refused(empty: str) -> None:
    name = f"{urlsplit(empty).path[1:]}_latin"
    await execute(empty, f"CREATE DATABASE {name} ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
    try:
        with pytest.raises(LogError, match="LATIN1; Sapwood needs one in UTF8"):
            await PostgresLog.open(urlsplit(empty)._replace(path=f"/{name}").geturl())
    finally:
        await execute(empty, f"DROP DATABASE {name} WITH (FORCE)")
