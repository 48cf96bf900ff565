"""The contract of a log: nothing of one space is seen, counted or guessed from another."""

import asyncio

import pytest

from sapwood.core.ids import AgentId, Space
from sapwood.core.log_values import AgentSummary, Cursor, LogError, Snapshot
from sapwood.turns.log import Log
from tests.store.contract import append, commit_of, grow, prompt_event, start, take, texts
from tests.store.memory_log import MemoryLog

ADA, BOB, CHILD = AgentId("ada"), AgentId("bob"), AgentId("child")
BIG = "secret " * 10_000


def other(space: Space) -> Space:
    return Space(f"{space}-other")


async def test_the_same_id_is_free_in_every_space(log: Log, space: Space) -> None:
    await start(log, space, ADA, "mine", name="mine")
    await start(log, other(space), ADA, "theirs", "theirs too", name="theirs")
    assert texts(await log.read(space, ADA)) == ["mine"]
    assert texts(await log.read(other(space), ADA)) == ["theirs", "theirs too"]
    assert await log.summary(space, ADA) == AgentSummary(ADA, 1, name="mine")
    assert await log.summary(other(space), ADA) == AgentSummary(ADA, 2, name="theirs")


async def test_a_command_id_is_free_in_every_space(log: Log, space: Space) -> None:
    mine = commit_of(append(ADA, prompt_event("mine")), message="mine")
    theirs = commit_of(
        append(ADA, prompt_event("theirs")), command=mine.receipt.command, message="theirs"
    )
    assert await log.commit(space, mine) is None
    assert await log.receipt(other(space), mine.receipt.command) is None
    assert await log.commit(other(space), theirs) is None
    assert await log.receipt(space, mine.receipt.command) == mine.receipt
    assert await log.receipt(other(space), mine.receipt.command) == theirs.receipt


async def test_strangers_see_no_agents(log: Log, space: Space) -> None:
    await start(log, space, ADA, "hello", name="Ada", working=True)
    await start(log, space, CHILD, "hello", parent=ADA)
    there = other(space)
    assert await log.read(there, ADA) == []
    assert await log.summary(there, ADA) is None
    assert await log.agents(there) == []
    assert await log.agents(there, parent=ADA) == []
    assert await log.agents(there, status="running") == []
    assert await log.working(there) == []
    assert await log.find(there, "Ada") == []
    assert await log.find(there, "ad") == []
    assert await log.find(there, "ada") == []
    assert await log.ancestors(there, CHILD) == []
    assert await log.descendants(there, ADA) == []


async def test_kin_end_at_the_border(log: Log, space: Space) -> None:
    await start(log, space, ADA)
    await start(log, space, CHILD, parent=ADA)
    await start(log, other(space), ADA, parent=BOB)
    await start(log, other(space), AgentId("stranger"), parent=CHILD)
    assert await log.ancestors(space, CHILD) == [ADA]
    assert await log.descendants(space, ADA) == [CHILD]


async def test_an_exact_id_elsewhere_hides_nothing_here(log: Log, space: Space) -> None:
    await start(log, other(space), AgentId("abc"))
    await start(log, space, AgentId("abcd"))
    assert [summary.agent for summary in await log.find(space, "abc")] == ["abcd"]


async def test_snapshots_stay_at_home(log: Log, space: Space) -> None:
    await log.save_snapshot(space, Snapshot(ADA, 1, "1", b"mine"))
    await log.save_snapshot(other(space), Snapshot(BOB, 1, "1", b"theirs"))
    assert await log.snapshot(other(space), ADA, "1") is None
    assert await log.snapshot(space, BOB, "1") is None


async def test_long_texts_stay_at_home(log: Log, space: Space) -> None:
    await start(log, space, ADA, BIG)
    await start(log, other(space), ADA, BIG)
    assert texts(await log.read(space, ADA)) == texts(await log.read(other(space), ADA)) == [BIG]


async def test_no_one_can_follow_agents_of_another_space(log: Log, space: Space) -> None:
    following = asyncio.ensure_future(take(log.follow(space, ADA), 2))
    tailing = asyncio.ensure_future(take(log.tail(space), 2))
    for n in range(5):
        await grow(log, other(space), ADA, f"theirs {n}")
    await grow(log, space, ADA, "mine")
    await grow(log, other(space), ADA, "theirs")
    await grow(log, space, ADA, "mine again")
    assert texts(await following) == ["mine", "mine again"]
    assert texts([tailed.recorded for tailed in await tailing]) == ["mine", "mine again"]


async def test_searches_stay_at_home(log: Log, space: Space) -> None:
    await start(log, space, ADA, "a needle of mine")
    await start(log, other(space), ADA, "a needle of theirs", "another needle")
    assert [hit.snippet for hit in await log.search(space, "needle")] == ["a needle of mine"]
    assert await log.search(space, "theirs") == []
    assert await log.search(Space(f"{space}-third"), "needle") == []
    assert await log.search(other(space), "mine", agents=[ADA]) == []


async def test_a_score_reveals_nothing_of_other_spaces(log: Log, space: Space) -> None:
    """The rank by rarity of a word must not count texts of other spaces."""
    await start(log, space, ADA, "a needle", "some hay", "more hay")
    (before,) = await log.search(space, "needle")
    for n in range(20):
        await start(log, other(space), AgentId(f"agent-{n}"), "needle " * n, "hay")
    (after,) = await log.search(space, "needle")
    assert after == before


async def test_any_text_can_name_a_space(log: Log) -> None:
    names = [Space(name) for name in ("", " ", "x'; --", "名前 🌲", "a/b%_", "A", "a")]
    unique = [Space(f"{name}|{id(log)}") for name in names]
    for space in unique:
        await start(log, space, ADA, f"hello from {space}")
    for space in unique:
        assert texts(await log.read(space, ADA)) == [f"hello from {space}"]
        assert len(await log.search(space, "hello")) == 1


async def test_a_cursor_does_not_count_what_others_write(log: Log, space: Space) -> None:
    """The same events give the same cursors, however much is written to another space between."""
    cursors: list[list[Cursor]] = []
    for number, noise in enumerate((0, 7)):
        own = Space(f"{space}-{number}")
        for n in range(4):
            await grow(log, own, ADA, f"mine {n}")
            for m in range(noise):
                await grow(log, other(space), BOB, f"theirs {n} {m}")
        cursors.append([each.cursor for each in await take(log.tail(own), 4)])
    assert cursors[0] == cursors[1] == [Cursor(n) for n in range(1, 5)]


async def test_no_cursor_tells_where_the_events_of_others_are(log: Log, space: Space) -> None:
    await grow(log, other(space), BOB, *(f"theirs {n}" for n in range(5)))
    await grow(log, space, ADA, "mine", "mine too")
    await grow(log, other(space), BOB, "theirs at last")
    await take(log.tail(space), 2)  # a cursor is known once its event is settled
    guesses = [Cursor(n) for n in range(3, 12)]
    if not isinstance(log, MemoryLog):  # it never counted what others write
        guesses += [Cursor(0, n) for n in range(1, 12)] + [Cursor(1, 1), Cursor(2**61, 1)]
    for guess in guesses:
        with pytest.raises(LogError, match="belongs to another space"):
            await take(log.tail(space, guess), 1)
    assert texts([e.recorded for e in await take(log.tail(space, Cursor(1)), 1)]) == ["mine too"]
