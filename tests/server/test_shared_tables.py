"""Tokens and limits in PostgreSQL: what one server knows, every server of the database knows."""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable

import asyncpg
import pytest

from sapwood.config.serve_settings import ServeConfig
from sapwood.config.server_tokens import FileTokens
from sapwood.store.postgres import PostgresLog
from sapwood.store.postgres.token_table import TokenTable
from sapwood_server.access.principal import Principal
from sapwood_server.access.rate_limit import RequestLimits
from sapwood_server.problems import Problem
from sapwood_server.server_tables import counts_of, tokens_of
from tests.store.memory_log import MemoryLog


@pytest.fixture
async def logs(postgres_database: str) -> AsyncGenerator[list[PostgresLog]]:
    """The same database, opened by two servers."""
    opened = [await PostgresLog.open(postgres_database) for _ in range(2)]
    yield opened
    for each in opened:
        await each.close()


async def until(is_so: Callable[[], bool], seconds: float = 20.0) -> None:
    async with asyncio.timeout(seconds):
        while not is_so():  # noqa: ASYNC110 # of another process
            await asyncio.sleep(0.01)


async def test_a_token_is_known_to_all_and_stored_as_a_hash(
    logs: list[PostgresLog], postgres_database: str
) -> None:
    value, record = await logs[0].tokens.create("ada", "team", ("read", "write"), seconds=60)
    assert await logs[1].tokens.find(value) == record
    assert await logs[1].tokens.find(value[:-1]) is None
    assert await logs[1].tokens.find("") is None
    session: asyncpg.Connection[asyncpg.Record] = await asyncpg.connect(postgres_database)
    [row] = await session.fetch("SELECT tokens::text AS row FROM sapwood.tokens")
    await session.close()
    assert value not in row["row"]
    assert value[3:] not in row["row"]


async def test_a_revoked_token_is_refused_by_the_other_server_at_once(
    logs: list[PostgresLog], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sapwood.store.postgres.token_table._KEPT_SECONDS", 3600.0)
    value, record = await logs[0].tokens.create("ada", "team", ("read",))
    assert await logs[1].tokens.find(value)
    await asyncio.sleep(0)
    # The connection that listens is opened in the background, and forgets what was known before it.
    for _ in range(2):
        await logs[1].tokens.find(value)
    await wait_for_listener(logs[1], value)
    assert await logs[0].tokens.revoke(record.id) == (record,)
    async with asyncio.timeout(20):
        while await logs[1].tokens.find(value):  # noqa: ASYNC110 # of another process
            await asyncio.sleep(0.01)
    assert await logs[0].tokens.find(value) is None


async def wait_for_listener(log: PostgresLog, value: str) -> None:
    """Returns when the log listens: a token that is remembered now is forgotten by notice only."""
    await until(lambda: log.is_listening)
    assert await log.tokens.find(value)


async def test_a_token_removed_by_hand_is_refused_too(
    logs: list[PostgresLog], postgres_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sapwood.store.postgres.token_table._KEPT_SECONDS", 3600.0)
    value, _ = await logs[0].tokens.create("ada", "team", ("read",))
    assert await logs[1].tokens.find(value)
    await wait_for_listener(logs[1], value)
    session: asyncpg.Connection[asyncpg.Record] = await asyncpg.connect(postgres_database)
    await session.execute("DELETE FROM sapwood.tokens")
    await session.close()
    async with asyncio.timeout(20):
        while await logs[1].tokens.find(value):  # noqa: ASYNC110 # of another process
            await asyncio.sleep(0.01)


async def test_a_remembered_token_expires(logs: list[PostgresLog]) -> None:
    value, _ = await logs[0].tokens.create("ada", "team", ("read",), seconds=1)
    async with asyncio.timeout(20):
        while await logs[0].tokens.find(value):  # noqa: ASYNC110 # by the clock
            await asyncio.sleep(0.05)
    old, _ = await logs[0].tokens.create("old", "team", ("read",), seconds=-90_000)
    await logs[0].tokens.create("new", "team", ("read",))
    assert await logs[0].tokens.find(old) is None
    assert {each.name for each in await logs[0].tokens.records()} == {"ada", "new"}


def test_a_log_without_tables_for_servers_uses_the_file() -> None:
    assert isinstance(tokens_of(MemoryLog()), FileTokens)
    assert counts_of(MemoryLog()) is None


async def test_servers_of_postgresql_use_the_database(logs: list[PostgresLog]) -> None:
    assert isinstance(tokens_of(logs[0]), TokenTable)
    assert counts_of(logs[0]) is logs[0].limits


# Limits.

ADA = Principal("a", "ada", "team", frozenset(("read",)))
BOB = Principal("b", "bob", "team", frozenset(("read",)))
EVE = Principal("e", "eve", "other", frozenset(("read",)))
SLOW = ServeConfig(rate=1, burst=5, space_rate=1, space_burst=8)


def passes(limits: RequestLimits, principal: Principal) -> bool:
    try:
        limits.check(principal)
    except Problem as problem:
        return problem.status != 429 or int(problem.headers["Retry-After"]) < 1
    return True


async def test_requests_are_counted_over_all_servers(logs: list[PostgresLog]) -> None:
    one, two = (RequestLimits(SLOW, log.limits) for log in logs)
    assert [passes(one, ADA) for _ in range(6)] == [True] * 5 + [False]
    async with asyncio.timeout(20):
        while (await logs[1].limits.count({"principal a": 0.0}))["principal a"] < 3:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    passed = 0
    async with asyncio.timeout(20):
        while passes(two, ADA):  # until it has learned what the other let pass
            passed += 1
            await asyncio.sleep(0.4)
    assert passed < 4, "what one server let pass was not known to the other"
    assert passes(two, EVE)
    await one.close()
    await two.close()


async def test_all_tokens_of_a_space_together_have_a_limit() -> None:
    limits = RequestLimits(SLOW)
    assert [passes(limits, ADA) for _ in range(5)] == [True] * 5
    assert [passes(limits, BOB) for _ in range(5)] == [True] * 3 + [False] * 2
    assert passes(limits, EVE)


async def test_a_server_counts_alone_while_the_database_is_away(logs: list[PostgresLog]) -> None:
    limits = RequestLimits(SLOW, logs[0].limits)
    await logs[0].close()
    assert [passes(limits, ADA) for _ in range(6)] == [True] * 5 + [False]
    await asyncio.sleep(0.3)  # it has failed to tell the database
    assert not passes(limits, ADA)
    await limits.close()


async def test_what_is_used_no_more_is_forgotten(logs: list[PostgresLog]) -> None:
    assert (await logs[0].limits.count({"a": 0.5}))["a"] == pytest.approx(0.5, abs=0.2)
    assert (await logs[1].limits.count({"a": 0.5}))["a"] == pytest.approx(1.0, abs=0.3)
    await logs[0].limits.count({"b": -1000.0})
    await logs[0].limits.forget()
    began = time.monotonic()
    assert (await logs[0].limits.count({"b": 1.0}))["b"] == pytest.approx(1.0, abs=0.3)
    assert time.monotonic() - began < 20
