"""The feed of an agent: comments in times of silence, one text for all followers, no leftovers."""

import asyncio
import re
from collections.abc import AsyncGenerator

import msgspec
import pytest

from sapwood.api import open
from sapwood.core.content import Text, Thinking
from sapwood.core.errors import LogError
from sapwood.core.ids import AgentId, CommandId
from sapwood.core.live_words import LiveWords
from sapwood.core.model_calls import RetryWait
from sapwood_server import event_feed
from tests.server.serving import Served, record


@pytest.fixture
async def agent(served: Served) -> AgentId:
    """A conversation of one turn: versions 1 and 2."""
    return await record(served.connection, ("Hello.", "Hi."))


async def test_a_comment_is_sent_in_times_of_silence_and_events_after_it(
    served: Served, agent: AgentId, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_feed, "BEAT", 0.05)
    stream = served.spaces.get("local").feeds.follow(agent, 2)
    async with asyncio.timeout(20):
        assert await anext(stream) == b"retry: 1000\n\n"
        assert await anext(stream) == b": here\n\n"
        assert await anext(stream) == b": here\n\n"
        async with served.client() as client:
            await client.post(f"/v1/agents/{agent}/commands/mark", json={"args": "A"})
        while (piece := await anext(stream)) == b": here\n\n":
            pass
    await stream.aclose()
    assert piece.startswith(b"id: 3\nevent: mark.set\n")


async def test_followers_at_the_same_version_share_one_text(served: Served, agent: AgentId) -> None:
    feeds = served.spaces.get("local").feeds
    streams = [feeds.follow(agent, 2) for _ in range(3)]
    async with asyncio.timeout(20):
        for each in streams:
            await anext(each)
        waiting = [asyncio.ensure_future(anext(each)) for each in streams]
        await asyncio.sleep(0.1)
        async with served.client() as client:
            await client.post(f"/v1/agents/{agent}/commands/mark", json={"args": "A"})
        pieces = await asyncio.gather(*waiting)
    assert pieces[0] is pieces[1] is pieces[2]
    for each in streams:
        await each.aclose()


async def test_a_follower_that_goes_while_it_waits_does_not_stop_the_others(
    served: Served, agent: AgentId
) -> None:
    feeds = served.spaces.get("local").feeds
    going, staying = feeds.follow(agent, 2), feeds.follow(agent, 2)
    async with asyncio.timeout(20):
        for each in (going, staying):
            await anext(each)
        gone, stays = (asyncio.ensure_future(anext(each)) for each in (going, staying))
        await asyncio.sleep(0.1)
        gone.cancel()
        await asyncio.gather(gone, return_exceptions=True)
        async with served.client() as client:
            await client.post(f"/v1/agents/{agent}/commands/mark", json={"args": "A"})
        assert (await stays).startswith(b"id: 3\n")
    await staying.aclose()


async def test_a_wait_for_another_attempt_is_a_comment_while_it_lasts(
    served: Served, agent: AgentId
) -> None:
    feeds = served.spaces.get("local").feeds
    wait = RetryWait(agent, 60.0, attempt=2, max_attempts=5)
    first = feeds.follow(agent, 2)
    async with asyncio.timeout(20):
        assert await anext(first) == b"retry: 1000\n\n"
        served.spaces.get("local").agents.on_wait(wait)
        later = feeds.follow(agent, 2)
        assert await anext(later) == b"retry: 1000\n\n"
        for each in (first, later):
            said = await anext(each)
            assert said.startswith(b": wait ")
            assert said.endswith(b"\n\n")
            found = msgspec.json.decode(said[7:], type=RetryWait)
            assert (found.attempt, found.max_attempts) == (2, 5)
            assert 50 < found.seconds <= 60
        served.spaces.get("local").agents.on_wait(RetryWait(agent, 0.0, 3, 5))
        async with served.client() as client:
            await client.post(f"/v1/agents/{agent}/commands/mark", json={"args": "A"})
        for each in (first, later):
            assert (await anext(each)).startswith(b"id: 3\n")
            await each.aclose()


async def test_words_come_once_also_to_a_follower_that_connects_again(
    served: Served, agent: AgentId
) -> None:
    log, space = served.connection.log, served.connection.space
    first = LiveWords(2, CommandId("first"), (Text("Once "),))
    more = LiveWords(2, CommandId("more"), (Text("Once upon"),))
    feeds = served.spaces.get("local").feeds
    async with asyncio.timeout(20):
        stream = feeds.follow(agent, 2)
        assert await anext(stream) == b"retry: 1000\n\n"
        assert await log.save_words(space, agent, 2, first, None)
        piece = await anext(stream)
        assert piece.startswith(b"id: 2.5\nevent: delta\n")
        assert b'"text":"Once "' in piece
        assert await log.save_words(space, agent, 2, more, first.command)
        piece = await anext(stream)
        assert piece.startswith(b"id: 2.9\nevent: delta\n")
        assert b'"text":"upon"' in piece
        again = feeds.follow(agent, 2, 5)
        assert await anext(again) == b"retry: 1000\n\n"
        assert b'"text":"upon"' in await anext(again)
        whole = feeds.follow(agent, 2)
        assert await anext(whole) == b"retry: 1000\n\n"
        assert b'"text":"Once upon"' in await anext(whole)
    for each in (stream, again, whole):
        await each.aclose()


async def test_an_event_in_the_middle_of_a_reply_does_not_bring_its_words_again(
    served: Served, agent: AgentId
) -> None:
    log, space = served.connection.log, served.connection.space
    words = LiveWords(2, CommandId("first"), (Text("Once "),))
    feeds = served.spaces.get("local").feeds
    async with asyncio.timeout(20):
        stream = feeds.follow(agent, 2)
        await anext(stream)
        assert await log.save_words(space, agent, 2, words, None)
        assert (await anext(stream)).startswith(b"id: 2.5\n")
        async with served.client() as client:
            await client.post(f"/v1/agents/{agent}/commands/mark", json={"args": "A"})
        piece = await anext(stream)
        assert piece.startswith(b"id: 3\nevent: mark.set\n")
        assert piece.endswith(b"\n\nid: 3.5\n\n")
        more = LiveWords(2, CommandId("more"), (Text("Once upon"),))
        assert await log.save_words(space, agent, 2, more, words.command)
        again = feeds.follow(agent, 3, 5)
        await anext(again)
        for each in (stream, again):
            piece = await anext(each)
            assert piece.startswith(b"id: 3.9\nevent: delta\n")
            assert b'"text":"upon"' in piece
            await each.aclose()


async def test_a_follower_that_was_away_when_a_reply_ended_gets_the_next_one_whole(
    served: Served, agent: AgentId
) -> None:
    log, space = served.connection.log, served.connection.space
    feeds = served.spaces.get("local").feeds
    words = LiveWords(2, CommandId("first"), (Text("Once upon a time"),))
    assert await log.save_words(space, agent, 2, words, None)
    gone = feeds.follow(agent, 2)
    async with asyncio.timeout(20):
        await anext(gone)
        assert (await anext(gone)).startswith(b"id: 2.16\n")
        await gone.aclose()
        async with open(served.connection.log) as db:
            await (await db.get(agent)).kill()
        back = feeds.follow(agent, 2, 16)
        await anext(back)
        piece = await anext(back)
    await back.aclose()
    assert b"agent.killed" in piece
    assert b"\nid: 3.16\n" not in piece


async def test_each_piece_of_a_reply_has_its_place(served: Served, agent: AgentId) -> None:
    log, space = served.connection.log, served.connection.space
    parts = (Thinking("Hm."), Text("Once"))
    assert await log.save_words(space, agent, 2, LiveWords(2, CommandId("w"), parts), None)
    stream = served.spaces.get("local").feeds.follow(agent, 2)
    async with asyncio.timeout(20):
        await anext(stream)
        piece = await anext(stream)
    await stream.aclose()
    assert re.findall(rb"^id: (\S+)$", piece, re.MULTILINE) == [b"2.3", b"2.7"]


async def test_a_feed_that_cannot_be_read_ends_and_the_next_follower_has_a_new_one(
    served: Served,
    agent: AgentId,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    feeds, log = served.spaces.get("local").feeds, served.connection.log

    async def broken(*_: object) -> AsyncGenerator[object]:
        raise LogError("The disk failed.")
        yield

    async with asyncio.timeout(20):
        with monkeypatch.context() as patch:
            patch.setattr(log, "watch", broken)
            streams = [feeds.follow(agent, 2) for _ in range(2)]
            for each in streams:
                assert [piece async for piece in each] == [b"retry: 1000\n\n"]
        again = feeds.follow(agent, 2)
        await anext(again)
        async with served.client() as client:
            await client.post(f"/v1/agents/{agent}/commands/mark", json={"args": "A"})
        assert (await anext(again)).startswith(b"id: 3\n")
        await again.aclose()
    assert "The disk failed." in caplog.text


async def test_an_agent_that_is_made_anew_after_its_erasure_shows_nothing_of_the_erased_one(
    served: Served,
) -> None:
    app, agent = served.spaces.get("local"), AgentId("chat")
    async with asyncio.timeout(20), open(served.connection.log) as db:
        await (await db.start(id=agent)).record("The heron is blue.", "It is.")
        old = app.feeds.follow(agent, 1, created=await created(served, agent))
        await anext(old)
        assert b"heron" in await anext(old)
        await (await db.get(agent)).erase()
        await (await db.start(id=agent)).record("Hello.", "Hi.")
        new = app.feeds.follow(agent, 1, created=await created(served, agent))
        await anext(new)
        piece = await anext(new)
        assert b"Hello." in piece
        assert b"heron" not in piece
        assert [each async for each in old] == []
        await new.aclose()


async def created(served: Served, agent: AgentId) -> int:
    """When an agent was created."""
    summary = await served.connection.log.summary(served.connection.space, agent)
    assert summary is not None
    return summary.created
