"""A worker role that does not own the tables can read and append, and nothing else."""

from collections.abc import AsyncGenerator
from typing import TypeAlias
from urllib.parse import urlsplit

import asyncpg
import pytest
from msgspec import structs

from sapwood.core.content import Text
from sapwood.core.erasure import ERASED, Hold
from sapwood.core.events import MailReceived, MailSent, WordsErased
from sapwood.core.ids import AgentId, Space
from sapwood.core.live_words import LiveWords
from sapwood.core.log_values import LogError, Snapshot
from sapwood.lifecycle.erasure import Eraser
from sapwood.store.postgres import PostgresLog
from sapwood.turns.log import Log
from tests.store.contract import (
    append,
    commit_of,
    grow,
    new_command,
    prompt_event,
    start,
    take,
)
from tests.store.postgres.roles import granted_roles, login

Owner: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
ADA, BOB = AgentId("ada"), AgentId("bob")
ERASER = "sapwood_test_eraser"


@pytest.fixture
async def worker(log: Log, postgres_dsn: str, postgres_database: str) -> AsyncGenerator[str]:
    """The address of the database for a worker. The fixture has created the tables."""
    logins = ("sapwood_test_worker IN ROLE sapwood_worker", f"{ERASER} IN ROLE sapwood_eraser")
    async with granted_roles(postgres_dsn, postgres_database, *logins):
        yield login(postgres_database, "sapwood_test_worker")


async def test_a_worker_can_do_everything_that_a_log_does(worker: str, space: Space) -> None:
    log = await PostgresLog.open(worker)
    await start(log, space, ADA, "needle", "x" * 5000)
    await grow(log, space, ADA, "another needle")
    await log.save_snapshot(space, Snapshot(ADA, 3, "1", b"data"))
    assert await log.snapshot(space, ADA, "1") == Snapshot(ADA, 3, "1", b"data")
    assert len(await take(log.tail(space), 3)) == 3
    assert len(await log.search(space, "needle")) == 2
    assert len(await log.agents(space)) == 1
    first, more = (LiveWords(3, new_command(), (Text(text),)) for text in ("Once", "Once upon"))
    assert await log.save_words(space, ADA, 3, first, None)
    assert await log.save_words(space, ADA, 3, more, first.command)
    end = structs.replace(append(ADA, prompt_event("end"), expected=3), ends_words=True)
    await log.commit(space, commit_of(structs.replace(end, words=more.command)))
    assert await log.words(space, ADA) is None
    await log.close()


async def test_a_worker_cannot_erase_and_an_eraser_can(worker: str, space: Space) -> None:
    log = await PostgresLog.open(worker)
    await start(log, space, ADA, "needle", "x" * 5000)
    mail = (
        append(ADA, MailSent("m", BOB, "needle"), expected=2),
        append(BOB, MailReceived("m", "needle", ADA)),
    )
    await log.commit(space, commit_of(*mail))
    with pytest.raises(LogError, match="is not allowed to erase"):
        await Eraser(log, space).erase([ADA], by="human")
    with pytest.raises(LogError, match="is not allowed to erase"):
        await log.add_hold(space, Hold("h1", 1, "human", "space"))
    await log.close()
    log = await PostgresLog.open(login(worker, ERASER))
    assert (await Eraser(log, space).erase([ADA], by="human")).agents == 1
    assert [each.event for each in await log.read(space, BOB)] == [
        MailReceived("m", ERASED, ADA),
        WordsErased(ADA),
    ]
    await log.add_hold(space, Hold("h1", 1, "human", "space"))
    await log.close()


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT set_config('sapwood.erasure', 'x', false); DELETE FROM sapwood.events",
        "ALTER TABLE sapwood.events DISABLE TRIGGER refuse_change",
        "ALTER TABLE sapwood.events DROP CONSTRAINT events_tx",
        "DROP TABLE sapwood.events_0",
        "DELETE FROM sapwood.events",
        "TRUNCATE sapwood.agents",
        "DELETE FROM sapwood.agents",
        "UPDATE sapwood.epochs SET shift = 0",
        "SELECT setval('sapwood.positions', 1)",
        "INSERT INTO sapwood.events (position) VALUES (1)",
        "SET session_replication_role = replica",
    ],
)
async def test_a_worker_cannot_take_the_guards_away(worker: str, statement: str) -> None:
    session: asyncpg.Connection[asyncpg.Record] = await asyncpg.connect(worker)
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await session.execute(statement)
    await session.close()


async def test_a_worker_cannot_make_the_tables(owner: Owner, worker: str) -> None:
    parts = urlsplit(worker)
    name = f"{parts.path[1:]}_bare"
    await owner.execute(f"CREATE DATABASE {name}")
    try:
        with pytest.raises(LogError, match="permission denied"):
            await PostgresLog.open(parts._replace(path=f"/{name}").geturl())
    finally:
        await owner.execute(f"DROP DATABASE {name} WITH (FORCE)")
