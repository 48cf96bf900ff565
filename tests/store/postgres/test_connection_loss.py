"""A lost connection loses no acknowledged commit and stores none twice."""

import asyncio
from collections.abc import AsyncGenerator

import asyncpg
import pytest

from sapwood.core.ids import AgentId, Space
from sapwood.core.log_values import Commit, LogError, LogUnavailable
from sapwood.store.postgres import PostgresLog
from sapwood.store.postgres.connections import is_temporary, log_error
from sapwood.turns.log import Log
from tests.store.contract import append, commit_of, prompt_event, start, texts
from tests.store.postgres.proxy import Proxy, proxy_to

ADA, BOB = AgentId("ada"), AgentId("bob")
_OTHERS = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()
"""


@pytest.fixture
async def line(postgres_database: str) -> AsyncGenerator[tuple[Proxy, PostgresLog]]:
    """A log whose connections can be cut."""
    async with proxy_to(postgres_database) as (proxy, address):
        log = await PostgresLog.open(address)
        yield proxy, log
        await log.close()


def turn(agent: AgentId, number: int) -> Commit:
    """The commit that brings an agent's log from `number` events to the next."""
    return commit_of(append(agent, prompt_event(f"{agent} {number}"), expected=number))


async def test_a_commit_whose_answer_was_lost_is_stored_once(
    line: tuple[Proxy, PostgresLog], log: Log, space: Space
) -> None:
    proxy, ours = line
    await start(ours, space, ADA, "zero")
    for number in range(1, 6):
        commit = turn(ADA, number)
        proxy.lose_answer_to = commit.receipt.command.encode()
        assert await ours.commit(space, commit) is None
        assert await log.receipt(space, commit.receipt.command) == commit.receipt
    assert texts(await log.read(space, ADA)) == ["zero", *(f"ada {n}" for n in range(1, 6))]


async def test_a_batch_whose_answer_was_lost_is_stored_once(
    line: tuple[Proxy, PostgresLog], log: Log, space: Space
) -> None:
    proxy, ours = line
    agents = [AgentId(f"agent-{n}") for n in range(30)]
    commits = [turn(agent, 0) for agent in agents]
    proxy.lose_answer_to = commits[-1].receipt.command.encode()
    ends = await asyncio.gather(*(ours.commit(space, commit) for commit in commits))
    assert ends == [None] * 30
    assert proxy.lose_answer_to is None
    for agent in agents:
        assert texts(await log.read(space, agent)) == [f"{agent} 0"]


async def test_a_conflict_is_still_a_conflict_when_its_answer_was_lost(
    line: tuple[Proxy, PostgresLog], log: Log, space: Space
) -> None:
    proxy, ours = line
    await start(log, space, ADA, "one", "two")
    late = turn(ADA, 1)
    proxy.lose_answer_to = late.receipt.command.encode()
    with pytest.raises(LogError, match="no longer at version 1"):
        await ours.commit(space, late)
    known = commit_of(append(ADA, prompt_event("three"), expected=2))
    assert await log.commit(space, known) is None
    again = commit_of(append(ADA, prompt_event("other"), expected=3), command=known.receipt.command)
    proxy.lose_answer_to = again.receipt.command.encode()
    assert await ours.commit(space, again) == known.receipt


async def test_sessions_ended_in_the_middle_keep_what_was_acknowledged(
    log: Log, space: Space, owner: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    agents = [AgentId(f"agent-{n}") for n in range(12)]
    acknowledged = dict.fromkeys(agents, 0)
    enough = asyncio.Event()

    async def write(agent: AgentId) -> None:
        while not enough.is_set():
            assert await log.commit(space, turn(agent, acknowledged[agent])) is None
            acknowledged[agent] += 1

    writing = asyncio.gather(*(write(agent) for agent in agents))
    for pause in (0.15, 0.02, 0.1, 0.05, 0.2, 0.08, 0.12, 0.03, 0.1, 0.1):
        await asyncio.wait([writing], timeout=pause)
        await owner.execute(_OTHERS)
    enough.set()
    await writing
    assert all(acknowledged.values())
    for agent in agents:
        found = texts(await log.read(space, agent))
        assert found == [f"{agent} {n}" for n in range(acknowledged[agent])]


async def test_a_follower_continues_after_a_lost_connection(
    line: tuple[Proxy, PostgresLog], log: Log, space: Space
) -> None:
    proxy, ours = line
    followed: list[str] = []
    tailed: list[str] = []

    async def follow() -> None:
        async for recorded in ours.follow(space, ADA):
            followed.extend(texts([recorded]))
            if len(followed) == 20:
                return

    async def tail() -> None:
        async for each in ours.tail(space):
            tailed.extend(texts([each.recorded]))
            if len(tailed) == 20:
                return

    following = [asyncio.ensure_future(follow()), asyncio.ensure_future(tail())]
    for number in range(20):
        await log.commit(space, turn(ADA, number))
        if number % 5 == 4:
            proxy.cut()
    async with asyncio.timeout(60):
        await asyncio.gather(*following)
    assert followed == tailed == [f"ada {n}" for n in range(20)]


async def test_a_server_that_stays_away_is_an_error_in_time(
    postgres_database: str, log: Log, space: Space
) -> None:
    async with proxy_to(postgres_database) as (proxy, address):
        ours = await PostgresLog.open(address, patience=0.5)
        await start(ours, space, ADA, "one")
        proxy.down = True
        proxy.cut()
        async with asyncio.timeout(60):
            with pytest.raises(LogError, match="Nothing was changed"):
                await ours.summary(space, ADA)
            with pytest.raises(LogError, match=r"Nothing was stored|not known"):
                await ours.commit(space, turn(ADA, 1))
            proxy.down = False
            assert await ours.summary(space, ADA) == await log.summary(space, ADA)
            await ours.commit(space, turn(ADA, len(await log.read(space, ADA))))
            await ours.close()


async def test_an_address_without_a_server_is_an_error() -> None:
    with pytest.raises(LogError, match="Is the server up"):
        await PostgresLog.open("postgresql://nobody@127.0.0.1:1/none", patience=0.2)


def test_a_full_disk_is_waited_for_like_a_server_that_is_down() -> None:
    full = asyncpg.DiskFullError("could not extend file: No space left on device")
    assert is_temporary(full)
    assert isinstance(log_error(full, "Nothing was stored."), LogUnavailable)
