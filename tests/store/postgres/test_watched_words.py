"""Words that arrive are read by those who show them, and nobody reads the events again for them."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, cast

import pytest

from sapwood.core.events import Recorded
from sapwood.core.ids import AgentId, Space
from sapwood.core.live_words import LiveWords
from sapwood.store.postgres import live_events
from sapwood.store.postgres.connections import ReaderPool
from tests.store.contract import OpenLog, append, commit_of, prompt_event
from tests.store.test_contract_words import ADA, ASKED, CALL, ending, words


async def test_more_words_make_nobody_read_events(
    open_log: OpenLog, space: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer, shower = await open_log(), await open_log()
    await writer.commit(space, commit_of(append(ADA, prompt_event("Well?"), CALL)))
    reads, read_part = list[AgentId](), live_events.read_part

    async def counted(*given: Any, **named: Any) -> list[Recorded]:
        reads.append(given[2])
        return await read_part(*given, **named)

    monkeypatch.setattr(live_events, "read_part", counted)
    following = asyncio.ensure_future(anext(aiter(writer.follow(space, ADA, ASKED))))
    watching = cast("AsyncGenerator[Recorded | LiveWords]", shower.watch(space, ADA, ASKED))
    async with aclosing(watching) as watched, asyncio.timeout(30):
        stored = words("Once")
        await writer.save_words(space, ADA, ASKED, stored, None)
        assert await anext(watched) == stored
        before = len(reads)
        for number in range(20):
            more = words(f"Once upon {number} times")
            await writer.save_words(space, ADA, ASKED, more, stored.command)
            stored = more
            assert await anext(watched) == more
        assert len(reads) - before < 10  # both also look for what they were not told
        await writer.commit(space, commit_of(ending(None)))
        ends = [await anext(watched), await following]
    assert [each.version for each in ends if isinstance(each, Recorded)] == [3, 3]


async def test_who_asks_for_words_in_the_same_moment_shares_a_statement(
    open_log: OpenLog, space: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, agents = await open_log(), [AgentId("ada"), AgentId("bob"), AgentId("eve")]
    stored = [words(f"Once upon {agent}") for agent in agents]
    for agent, each in zip(agents, stored, strict=True):
        await log.commit(space, commit_of(append(agent, prompt_event("Well?"), CALL)))
        await log.save_words(space, agent, ASKED, each, None)
    fetch, asked = ReaderPool.fetch, list[object]()

    async def counted(self: ReaderPool, query: str, *given: object) -> Any:
        asked.append(given)
        return await fetch(self, query, *given)

    monkeypatch.setattr(ReaderPool, "fetch", counted)
    nobody = log.words(space, AgentId("nobody"))
    found = await asyncio.gather(*(log.words(space, agent) for agent in agents), nobody)
    assert found == [*stored, None]
    assert len(asked) == 1
