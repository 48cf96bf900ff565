"""Words of many replies are stored together, and each has its own result."""

import asyncio
from collections.abc import AsyncGenerator, Sequence

import asyncpg
import pytest

from sapwood.core.errors import SpaceMoved
from sapwood.core.ids import AgentId, Space
from sapwood.core.live_words import LiveWords
from sapwood.store.postgres import PostgresLog
from sapwood.store.postgres.connections import ReaderPool
from tests.store.contract import append, commit_of, new_command, prompt_event
from tests.store.test_contract_words import ASKED, CALL, words

AGENTS = [AgentId(f"agent-{number}") for number in range(40)]


@pytest.fixture
async def log(postgres_database: str) -> AsyncGenerator[PostgresLog]:
    log = await PostgresLog.open(postgres_database)
    yield log
    await log.close()


async def began(log: PostgresLog, space: Space, agents: Sequence[AgentId]) -> list[LiveWords]:
    """The first words of replies to these agents."""
    stored: list[LiveWords] = []
    for agent in agents:
        await log.commit(space, commit_of(append(agent, prompt_event("Well?"), CALL)))
        stored.append(words("Once"))
        assert await log.save_words(space, agent, ASKED, stored[-1], None)
    return stored


async def test_words_of_many_replies_are_stored_in_a_few_statements(
    log: PostgresLog, space: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    firsts = await began(log, space, AGENTS)
    asked, fetch = list[str](), ReaderPool.fetch

    async def counted(readers: ReaderPool, query: str, *args: object) -> list[asyncpg.Record]:
        asked.append(query)
        return await fetch(readers, query, *args)

    monkeypatch.setattr(ReaderPool, "fetch", counted)
    more = [words(f"Once upon {agent}") for agent in AGENTS]
    saving = (
        log.save_words(space, agent, ASKED, after, first.command)
        for agent, after, first in zip(AGENTS, more, firsts, strict=True)
    )
    assert all(await asyncio.gather(*saving))
    assert len([query for query in asked if "UPDATE sapwood.live_words" in query]) <= 2
    assert [await log.words(space, agent) for agent in AGENTS] == more


async def test_words_that_do_not_follow_those_before_are_refused_among_others(
    log: PostgresLog, space: Space
) -> None:
    first, second = AGENTS[:2]
    known, also = await began(log, space, (first, second))
    late, right, twice = words("Late"), words("Once upon"), words("Twice")
    found = await asyncio.gather(
        log.save_words(space, first, ASKED, late, new_command()),
        log.save_words(space, second, ASKED, right, also.command),
        log.save_words(space, second, ASKED, twice, also.command),
    )
    assert not found[0]
    assert sorted(found[1:]) == [False, True]
    assert await log.words(space, first) == known
    assert await log.words(space, second) == (right if found[1] else twice)


async def test_a_space_that_has_moved_lets_words_of_other_spaces_be_stored(
    log: PostgresLog, space: Space, owner: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    moved = Space(f"{space}-moved")
    (first,) = await began(log, moved, AGENTS[:1])
    (other,) = await began(log, space, AGENTS[:1])
    await owner.execute(
        "INSERT INTO sapwood.moves (space, id, state, cell) VALUES ($1, 'm', 'moved', 'b')", moved
    )
    lost, kept = await asyncio.gather(
        log.save_words(moved, AGENTS[0], ASKED, words("Lost"), first.command),
        log.save_words(space, AGENTS[0], ASKED, words("Kept"), other.command),
        return_exceptions=True,
    )
    assert isinstance(lost, SpaceMoved)
    assert kept is True
