"""Writers of several processes do not block each other, and odd names are stored."""

import asyncio
import sys
from typing import TypeAlias

import asyncpg
import pytest

from sapwood.core.events import Actor, Recorded
from sapwood.core.ids import AgentId, CommandId, Space
from sapwood.core.log_values import AgentSummary, Append, Commit, LogError, Receipt, VersionConflict
from sapwood.store.postgres import PostgresLog
from sapwood.turns.log import Log
from tests.store.contract import append, commit_of, prompt_event, start, take, texts

Owner: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
ADA, BOB = AgentId("ada"), AgentId("bob")
CROWD = [AgentId(f"agent-{n}") for n in range(6)]
ROUNDS = 40


async def cross(log: Log, space: Space, name: str, backward: bool) -> None:
    """Commits to all agents at once, repeatedly, in one order or the other."""
    order = CROWD[::-1] if backward else CROWD
    for n in range(ROUNDS):
        while True:
            summary = await asyncio.gather(*(log.summary(space, agent) for agent in order))
            appends = [
                append(
                    agent,
                    prompt_event(f"{name} {n}"),
                    prompt_event(f"{n} prompt_event by both, and long " * 100),
                    expected=known.version if known else 0,
                )
                for agent, known in zip(order, summary, strict=True)
            ]
            try:
                await log.commit(space, commit_of(*appends, command=CommandId(f"{name} {n}")))
            except VersionConflict:
                continue
            break


async def in_another_process(address: str, space: Space, name: str, backward: bool) -> None:
    arguments = ("-m", __name__, address, space, name, "backward" if backward else "")
    process = await asyncio.create_subprocess_exec(sys.executable, *arguments)
    assert await process.wait() == 0


async def test_crossing_commits_of_two_processes_never_deadlock(
    postgres_database: str, log: Log, space: Space, owner: Owner
) -> None:
    await asyncio.gather(
        in_another_process(postgres_database, space, "p", backward=False),
        in_another_process(postgres_database, space, "q", backward=True),
        cross(log, space, "here", backward=True),
    )
    for agent in CROWD:
        recorded = await log.read(space, agent)
        assert [each.version for each in recorded] == list(range(1, len(recorded) + 1))
        expected = {f"{name} {n}" for name in ("p", "q", "here") for n in range(ROUNDS)}
        assert set(texts(recorded)[::2]) == expected
        assert len(recorded) == 2 * len(expected)
    await owner.execute("SELECT pg_stat_force_next_flush()" if await newer(owner) else "SELECT 1")
    assert await deadlocks(owner) == 0


async def newer(owner: Owner) -> bool:
    return owner.get_server_version().major >= 15


async def deadlocks(owner: Owner) -> int:
    return await owner.fetchval(
        "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
    )


async def test_a_busy_agent_does_not_block_others(log: Log, space: Space, owner: Owner) -> None:
    await start(log, space, ADA)
    await start(log, space, BOB)
    async with owner.transaction():
        await owner.fetch("SELECT FROM sapwood.agents WHERE agent = 'ada' FOR UPDATE")
        stuck = asyncio.ensure_future(
            log.commit(space, commit_of(append(ADA, prompt_event("late"), expected=1)))
        )
        async with asyncio.timeout(60):
            await log.commit(space, commit_of(append(BOB, prompt_event("in time"), expected=1)))
        assert not stuck.done()
    assert await stuck is None


async def test_commits_sent_in_a_row_are_stored_in_a_row(log: Log, space: Space) -> None:
    """Commits are stored in the order in which they were sent, without waiting in between."""
    commits = [commit_of(append(ADA, prompt_event(str(n)), expected=n)) for n in range(100)]
    ends = await asyncio.gather(*(log.commit(space, commit) for commit in commits))
    assert ends == [None] * 100
    assert texts(await log.read(space, ADA)) == [str(n) for n in range(100)]
    assert [each.recorded.version for each in await take(log.tail(space), 100)] == [*range(1, 101)]


ODD = ["", " ", "a\x1fb", "\x1e\x1d\x1c", "tab\t new\n", "quote ' \" \\ $1", "数据 🌲", "%_*"]


@pytest.mark.parametrize("together", [False, True])
async def test_odd_names_go_through(log: Log, space: Space, together: bool) -> None:
    def odd(text: str, expected: int) -> Commit:
        agent, command = AgentId(text), CommandId(f"{text}{expected}")
        events = (
            Recorded(agent, expected + 1, prompt_event(text), 5, Actor("human", text), command),
            Recorded(
                agent, expected + 2, prompt_event(text), 6, Actor("model", text), CommandId(text)
            ),
        )
        summary = AgentSummary(agent, expected + 2, name=f"{text}\0!", parent=agent or None)
        return Commit((Append(agent, expected, events, summary),), Receipt(command, text))

    for expected in (0, 2):
        commits = [odd(text, expected) for text in ODD]
        if together:
            await asyncio.gather(*(log.commit(space, commit) for commit in commits))
        else:
            for commit in commits:
                assert await log.commit(space, commit) is None
        for commit in commits:
            (append,) = commit.appends
            assert await log.read(space, append.agent, expected + 1) == list(append.events)
            assert await log.summary(space, append.agent) == append.summary
            assert await log.receipt(space, commit.receipt.command) == commit.receipt
    assert await log.find(space, "tab\t new\n\0!") == await log.find(space, "tab\t new\n")


async def test_an_id_that_cannot_be_stored_is_refused_alone(log: Log, space: Space) -> None:
    bad = commit_of(append(AgentId("nul\0"), prompt_event("no")))
    good = [commit_of(append(AgentId(f"good-{n}"), prompt_event("yes"))) for n in range(5)]
    ends = await asyncio.gather(
        *(log.commit(space, commit) for commit in (*good, bad)), return_exceptions=True
    )
    assert ends[:-1] == [None] * 5
    assert isinstance(ends[-1], LogError)
    assert "Nothing was stored" in str(ends[-1])


async def test_a_closed_log_says_so(postgres_database: str, space: Space) -> None:
    log = await PostgresLog.open(postgres_database)
    waiting = [
        asyncio.ensure_future(
            log.commit(space, commit_of(append(AgentId(f"a-{n}"), prompt_event("x"))))
        )
        for n in range(50)
    ]
    await asyncio.sleep(0)
    await log.close()
    assert await asyncio.gather(*waiting) == [None] * 50
    with pytest.raises(LogError, match="closed"):
        await log.commit(space, commit_of(append(ADA, prompt_event("late"))))
    with pytest.raises(LogError, match="closed"):
        await log.summary(space, ADA)


async def _main(address: str, space: str, name: str, backward: str) -> None:
    log = await PostgresLog.open(address)
    await cross(log, Space(space), name, bool(backward))
    await log.close()


if __name__ == "__main__":
    asyncio.run(_main(*sys.argv[1:]))
