"""The stream of a space: every event of every agent once, also after a pause and from memory."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator

import msgspec
import pytest

from sapwood.api import open
from sapwood.core.errors import LogError
from sapwood.core.ids import Space
from sapwood.core.log_values import Cursor, LogUnavailable, TailedEvent
from sapwood_server import space_feed
from sapwood_server.space_feed import SpaceFeed
from tests.server.serving import Served, record


def messages(pieces: list[bytes]) -> list[tuple[str, str, dict[str, object]]]:
    """The id, the kind and the data of each message."""
    found: list[tuple[str, str, dict[str, object]]] = []
    for text in b"".join(pieces).decode().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in text.split("\n") if ": " in line)
        if "data" in fields:
            data = msgspec.json.decode(fields["data"], type=dict[str, object])
            found.append((fields.get("id", ""), fields["event"], data))
    return found


async def collect(
    feed: SpaceFeed, after: Cursor | None, until: int, *, short: bool = False
) -> list[tuple[str, str, dict[str, object]]]:
    """What a follower gets until the message with this cursor."""
    pieces: list[bytes] = []
    stream = feed.follow(after, short=short)
    async for piece in stream:
        pieces.append(piece)
        if any(id and int(id) >= until for id, _, _ in messages(pieces)):
            break
    await stream.aclose()
    return messages(pieces)


async def test_a_follower_resumes_exactly(served: Served) -> None:
    feed = served.spaces.get("local").feed
    await record(served.connection, ("One?", "1."))
    await record(served.connection, ("Two?", "2."))
    await record(served.connection, ("Hidden?", "Yes."), space="other")
    async with asyncio.timeout(30):
        whole = await collect(feed, Cursor(), 4)
        rest = await collect(feed, Cursor(2), 4)
    assert [id for id, _, _ in whole] == ["1", "2", "3", "4"]
    assert [kind for _, kind, _ in whole] == ["agent.started", "turn.recorded"] * 2
    assert rest == whole[2:]


async def test_followers_that_come_and_go_miss_nothing_while_agents_work(served: Served) -> None:
    feed = served.spaces.get("local").feed
    last = 2 + 120

    async def comes_back() -> list[int]:
        found: list[int] = []
        while not found or found[-1] < last:
            after = found[-1] if found else 0
            got = await collect(feed, Cursor(after), min(last, after + 7))
            found += [int(id) for id, _, _ in got]
        return found

    async def work() -> None:
        async with open(served.connection.log) as db:
            agents = [await db.start(name) for name in ("a", "b")]
            for number in range(60):
                for agent in agents:
                    await agent.mark(f"M{number}")

    async with asyncio.timeout(60):
        *found, _ = await asyncio.gather(*(comes_back() for _ in range(4)), work())
    assert all(each == list(range(1, last + 1)) for each in found)


async def test_the_short_form_has_what_a_list_shows(served: Served) -> None:
    feed = served.spaces.get("local").feed
    agent = await record(served.connection, ("One?", "1."))
    stream = feed.follow(None, short=True)
    async with asyncio.timeout(30), open(served.connection.log) as db:
        await anext(stream)
        [(start, kind, _)] = messages([await anext(stream)])
        assert (start, kind) == ("2", "start")
        await (await db.get(agent)).rename("herons")
        [(id, kind, summary)] = messages([await anext(stream)])
        assert (id, kind) == ("3", "agent")
        assert (summary["agent"], summary["name"], summary["status"]) == (agent, "herons", "idle")
        await (await db.get(agent)).erase()
    await stream.aclose()


async def test_a_bad_cursor_is_refused(served: Served) -> None:
    async with served.client("read") as client:
        for typed in ("x", "1.2.3", "-1", "9" * 30):
            answer = await client.get("/v1/events", headers={"Last-Event-ID": typed})
            assert answer.status_code == 400, typed


async def test_a_feed_that_cannot_be_read_ends_and_the_next_follower_has_a_new_one(
    served: Served, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    feed, log = served.spaces.get("local").feed, served.connection.log

    async def broken(*_: object) -> AsyncGenerator[object]:
        raise LogError("The disk failed.")
        yield

    async with asyncio.timeout(20):
        with monkeypatch.context() as patch:
            patch.setattr(log, "tail", broken)
            first, second = (feed.follow(None, short=False) for _ in range(2))
            await anext(second)
            pieces = [piece async for piece in first]
            assert pieces[0] == b"retry: 1000\n\n"
            assert all(piece.startswith(b"id: 0\nevent: start\n") for piece in pieces[1:])
        again = feed.follow(None, short=False)  # while one of the old followers is still there
        assert [await anext(again), await anext(again)][1].startswith(b"id: 0\nevent: start\n")
        await record(served.connection, ("One?", "1."))
        assert b"agent.started" in await anext(again)
        assert [kind async for kind in second if b"agent.started" in kind] == []
        await again.aclose()
    assert "The disk failed." in caplog.text


async def test_followers_get_comments_until_the_database_answers(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    feed, log = served.spaces.get("local").feed, served.connection.log
    answers, end = asyncio.Event(), log.end

    async def away(space: Space) -> Cursor:
        if not answers.is_set():
            raise LogUnavailable("The database is away.")
        return await end(space)

    monkeypatch.setattr(log, "end", away)
    monkeypatch.setattr(space_feed, "BEAT", 0.05)
    stream = feed.follow(None, short=False)
    async with asyncio.timeout(20):
        assert await anext(stream) == b"retry: 1000\n\n"
        assert await anext(stream) == b": here\n\n"
        answers.set()
        while (piece := await anext(stream)) == b": here\n\n":
            pass
    await stream.aclose()
    assert piece.startswith(b"id: 0\nevent: start\n")


@pytest.mark.parametrize("short", [False, True])
async def test_nothing_of_an_erased_agent_is_sent_from_memory(served: Served, short: bool) -> None:
    feed = served.spaces.get("local").feed
    async with asyncio.timeout(30), open(served.connection.log) as db:
        staying = feed.follow(None, short=short)
        await anext(staying)
        await anext(staying)
        erased = await record(served.connection, ("The heron is blue.", "It is."))
        kept = await record(served.connection, ("Hello.", "Hi."))
        seen = b""
        while kept.encode() not in seen:
            seen += await anext(staying)
        await (await db.get(erased)).erase()
        late = feed.follow(Cursor(0), short=short)
        await anext(late)
        seen = await anext(late)
        await late.aclose()
        await staying.aclose()
    assert kept.encode() in seen
    assert erased.encode() not in seen


async def test_a_quiet_space_keeps_nothing_in_memory(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    feed, log = served.spaces.get("local").feed, served.connection.log
    tail, read_after = log.tail, list[Cursor | None]()

    def noted(space: Space, after: Cursor | None = None) -> AsyncIterator[TailedEvent]:
        read_after.append(after)
        return tail(space, after)

    monkeypatch.setattr(log, "tail", noted)
    async with asyncio.timeout(30):
        stream = feed.follow(None, short=False)
        await anext(stream)
        await anext(stream)
        await record(served.connection, ("One?", "1."))
        seen = b""
        while b"turn.recorded" not in seen:
            seen += await anext(stream)
        monkeypatch.setattr(space_feed, "_SECONDS", 0.0)
        late = await collect(feed, Cursor(0), 2)
        await stream.aclose()
    assert [id for id, _, _ in late] == ["1", "2"]
    assert read_after.count(Cursor(0)) == 2, "once by the reader, once for the late follower"
