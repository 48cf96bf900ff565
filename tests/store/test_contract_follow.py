"""The contract of a log: a follower gets old events, then new ones, each once."""

import asyncio
from contextlib import aclosing
from typing import Any, cast

import pytest

from sapwood.core.ids import AgentId, Space
from sapwood.core.log_values import Cursor, TailedEvent
from sapwood.turns.log import Log
from tests.store.another_process import write_elsewhere
from tests.store.contract import Backend, OpenLog, grow, on_databases, start, take, texts

ADA, BOB = AgentId("ada"), AgentId("bob")


async def followed(log: Log, space: Space, count: int, after: int = 0) -> list[str]:
    return texts(await take(log.follow(space, ADA, after), count))


def tailed_texts(tailed: list[TailedEvent]) -> list[str]:
    return texts([each.recorded for each in tailed])


async def test_the_past_comes_first(log: Log, space: Space) -> None:
    await start(log, space, ADA, *"abcde")
    assert await followed(log, space, 5) == [*"abcde"]
    assert await followed(log, space, 2, after=3) == [*"de"]


async def test_then_each_event_as_it_is_committed(
    log: Log, space: Space, open_log: OpenLog
) -> None:
    other = await open_log()
    await start(log, space, ADA, "past")
    async with asyncio.timeout(60), aclosing(cast("Any", log.follow(space, ADA))) as events:
        assert texts([await anext(events)]) == ["past"]
        for n, writer in enumerate((log, other, log, other, other)):
            await grow(writer, space, BOB, "not for us")
            await grow(writer, space, ADA, str(n))
            assert texts([await anext(events)]) == [str(n)]


async def test_an_agent_can_be_followed_before_it_exists(log: Log, space: Space) -> None:
    waiting = asyncio.ensure_future(followed(log, space, 2))
    await asyncio.sleep(0)
    await start(log, space, BOB, "not for us")
    await start(log, space, ADA, "first", "second")
    assert await waiting == ["first", "second"]


async def test_nothing_is_missed_between_the_past_and_the_present(
    log: Log, space: Space, open_log: OpenLog
) -> None:
    other = await open_log()
    expected = [str(n) for n in range(100)]

    async def write() -> None:
        for n in expected:
            await grow(other, space, ADA, n)

    writing = asyncio.ensure_future(write())
    readers = [asyncio.ensure_future(followed(log, space, 100)) for _ in range(5)]
    for _ in range(5):
        await grow(log, space, BOB, "elsewhere")
        readers.append(asyncio.ensure_future(followed(log, space, 100)))
    assert await asyncio.gather(*readers) == [expected] * 10
    await writing


async def test_a_long_past_is_followed_whole(log: Log, space: Space) -> None:
    many = [str(n) for n in range(3000)]
    await start(log, space, ADA, *many)
    assert await followed(log, space, 3000) == many


async def test_following_ends_with_the_log(open_log: OpenLog, space: Space) -> None:
    log = await open_log()
    await start(log, space, ADA)

    async def until_it_ends() -> int:
        return len([event async for event in log.follow(space, ADA)])

    async def until_the_tail_ends() -> int:
        return len([event async for event in log.tail(space)])

    ends = [asyncio.ensure_future(until_it_ends()), asyncio.ensure_future(until_the_tail_ends())]
    assert await followed(log, space, 1) == ["hello"]
    async with asyncio.timeout(60):
        await log.close()
        assert await asyncio.gather(*ends) in ([1, 1], [0, 1], [1, 0], [0, 0])


@on_databases
async def test_another_process_is_followed_too(backend: Backend, log: Log, space: Space) -> None:
    waiting = asyncio.ensure_future(followed(log, space, 4))
    tailing = asyncio.ensure_future(take(log.tail(space), 4))
    await start(log, space, ADA, "here")
    await write_elsewhere(backend, space, ADA, "there", "and", "there")
    assert await waiting == ["here", "there", "and", "there"]
    assert tailed_texts(await tailing) == ["here", "there", "and", "there"]


async def test_the_tail_shows_every_agent_of_the_space(log: Log, space: Space) -> None:
    await start(log, space, ADA, "a", "b")
    await start(log, space, BOB, "c")
    await grow(log, space, ADA, "d")
    assert tailed_texts(await take(log.tail(space), 4)) == [*"abcd"]


async def test_the_tail_goes_on_after_any_cursor(log: Log, space: Space, open_log: OpenLog) -> None:
    for n in range(5):
        await grow(log, space, ADA, f"{n}", f"{n}+")
        await grow(log, space, BOB, f"{n}!")
    whole = await take(log.tail(space), 15)
    cursors = [each.cursor for each in whole]
    assert cursors == sorted(set(cursors))
    other = await open_log()
    for place in range(14):
        rest = await take(other.tail(space, cursors[place]), 14 - place)
        assert rest == whole[place + 1 :]


async def test_the_tail_waits_at_its_end(log: Log, space: Space) -> None:
    await start(log, space, ADA, "past")
    (last,) = await take(log.tail(space), 1)
    waiting = asyncio.ensure_future(take(log.tail(space, last.cursor), 1))
    await asyncio.sleep(0)
    assert not waiting.done()
    await grow(log, space, ADA, "present")
    assert tailed_texts(await waiting) == ["present"]


@pytest.mark.parametrize("after", [None, Cursor()])
async def test_no_writer_hides_from_the_tail(
    log: Log, space: Space, open_log: OpenLog, after: Cursor | None
) -> None:
    """Writers commit out of order, on several connections, while the tail is being read."""
    writers, rounds = 8, 25
    logs = [log, await open_log(), await open_log()]

    async def write(writer: int) -> None:
        for n in range(rounds):
            agents = AgentId(f"agent-{writer}"), AgentId(f"agent-{(writer + n) % writers}")
            for agent in agents:
                await grow(logs[writer % 3], space, agent, f"{writer}.{n}")

    tailing = [asyncio.ensure_future(take(each.tail(space, after), 400)) for each in logs]
    await asyncio.gather(*(write(writer) for writer in range(writers)))
    for seen in await asyncio.gather(*tailing):
        refs = [each.recorded.ref for each in seen]
        assert len(set(refs)) == writers * rounds * 2
        for agent in {ref.agent for ref in refs}:
            mine = [ref.version for ref in refs if ref.agent == agent]
            assert mine == list(range(1, len(mine) + 1))
    assert tailing[0].result() == tailing[1].result() == tailing[2].result()
