"""The contract of a log: events are returned unchanged, in the requested part and order."""

import asyncio
import random

import pytest

from sapwood.core.content import Note, Text, Thinking, ToolCall, Usage
from sapwood.core.context import Context, Mask
from sapwood.core.events import (
    SYSTEM,
    Actor,
    AgentArchived,
    AgentForked,
    AgentKilled,
    AgentStarted,
    ContextSummarized,
    ContextTrimmed,
    Event,
    MailReceived,
    MarkSet,
    ModelCalled,
    Pin,
    PinAdded,
    Recorded,
    ReplyAdded,
    SettingsChanged,
    Size,
    ToolFinished,
    TurnCompleted,
    TurnStarted,
)
from sapwood.core.ids import AgentId, CommandId, EventRef, Space, TurnRef
from sapwood.core.log_values import AgentSummary, Append
from sapwood.core.settings import Settings, SettingsChange, Workspace
from sapwood.turns.log import Log
from tests.store.contract import (
    Backend,
    append,
    commit_of,
    on_databases,
    prompt_event,
    start,
    texts,
)

ADA, BOB = AgentId("ada"), AgentId("bob")
BIG = "0123456789" * 10_000
ODD = "nul \0 tab \t quote \" ' back \\ $content 数据 🌲👩‍👩‍👧 \u2028 \x7f é e\u0301 "


@pytest.mark.parametrize(
    ("first", "last", "limit", "backward", "expected"),
    [
        (1, None, None, False, [1, 2, 3, 4, 5]),
        (1, None, None, True, [5, 4, 3, 2, 1]),
        (3, None, None, False, [3, 4, 5]),
        (3, None, None, True, [5, 4, 3]),
        (2, 4, None, False, [2, 3, 4]),
        (2, 4, None, True, [4, 3, 2]),
        (1, None, 2, False, [1, 2]),
        (1, None, 2, True, [5, 4]),
        (2, 4, 2, False, [2, 3]),
        (2, 4, 2, True, [4, 3]),
        (1, 100, 100, False, [1, 2, 3, 4, 5]),
        (0, None, None, False, [1, 2, 3, 4, 5]),
        (6, None, None, False, []),
        (4, 3, None, False, []),
        (1, 0, None, True, []),
        (1, None, 0, False, []),
    ],
)
async def test_a_part_of_a_log_can_be_read(
    log: Log,
    space: Space,
    first: int,
    last: int | None,
    limit: int | None,
    backward: bool,
    expected: list[int],
) -> None:
    await start(log, space, ADA, *"abcde")
    await start(log, space, BOB, *"xyz")
    found = await log.read(space, ADA, first, last, limit=limit, backward=backward)
    assert [recorded.version for recorded in found] == expected
    assert texts(found) == ["abcde"[version - 1] for version in expected]


async def test_an_unknown_agent_has_no_events(log: Log, space: Space) -> None:
    assert await log.read(space, AgentId("nobody")) == []


EVENTS: tuple[Event, ...] = (
    AgentStarted("fork", ODD, Settings("m", ODD), Workspace("f"), (Pin("p", ODD),), BOB, "M"),
    TurnStarted(TurnRef(BOB, 1, 3), (Text(ODD), Note("mail", BIG, "bob"), Text(BIG + "!"))),
    ModelCalled(
        "m", Context(TurnRef(ADA, 1, 2), mask=Mask(EventRef(ADA, 2), 9)), "ff", 7, '{"a":1}'
    ),
    ReplyAdded(
        (Thinking(ODD, "x", "sig"), ToolCall("1", "sh", '{"$content": "x"}')), "m", Usage(1, 2)
    ),
    ToolFinished("1", '{"$content": "' + BIG + '"}', error=True),
    MailReceived("mail", ODD * 100, "bob"),
    MarkSet("M", 2, "1"),
    ContextSummarized(BIG, ODD, 0.25),
    ContextTrimmed("compact", None, 1, 2, 3, EventRef(ADA, 8)),
    SettingsChanged(SettingsChange(cap=0)),
    PinAdded(Pin("big", BIG)),
    AgentForked(BOB, "M", (Text(""), Text(BIG)), delegated=True),
    TurnCompleted(Size(12, "plain")),
    AgentKilled(ADA),
    AgentArchived(),
)


async def test_every_event_comes_back_as_it_was(log: Log, space: Space) -> None:
    actors = (Actor("human", "Ada: née Byron"), Actor("model", "m:1"), SYSTEM)
    events = tuple(
        Recorded(ADA, n, event, 2**52 + n, actors[n % 3], CommandId(f"c{n} 🌲"))
        for n, event in enumerate(EVENTS, start=1)
    )
    await log.commit(space, commit_of(Append(ADA, 0, events, AgentSummary(ADA, len(events)))))
    assert await log.read(space, ADA) == list(events)
    assert await log.read(space, ADA, backward=True) == list(events[::-1])


@pytest.mark.parametrize("length", [0, 1, 2000, 2047, 2048, 2049, 100_000, 3_000_000])
async def test_a_text_of_any_length_comes_back_as_it_was(
    log: Log, space: Space, length: int
) -> None:
    text = (ODD * (length // len(ODD) + 1))[:length]
    await start(log, space, ADA, text, text + ".", text)
    assert texts(await log.read(space, ADA)) == [text, text + ".", text]


async def test_many_may_store_the_same_long_text_at_once(log: Log, space: Space) -> None:
    agents = [AgentId(f"agent-{n}") for n in range(20)]
    await asyncio.gather(*(start(log, space, agent, BIG, BIG) for agent in agents))
    for agent in agents:
        assert texts(await log.read(space, agent)) == [BIG, BIG]


@on_databases
async def test_a_long_text_is_stored_once(backend: Backend, log: Log, space: Space) -> None:
    # One word that does not compress, so that an index of words has little to keep.
    text = random.Random(space).randbytes(500_000).hex()
    await start(log, space, AgentId("warm-up"))
    empty = await backend.size()
    await start(log, space, ADA, text)
    once = await backend.size()
    await start(log, space, BOB, text, text)
    await log.commit(space, commit_of(append(ADA, ToolFinished("1", text), expected=1)))
    assert once - empty > 400_000
    assert await backend.size() - once < 200_000


@on_databases
async def test_each_space_keeps_its_own_copy(backend: Backend, log: Log, space: Space) -> None:
    """Otherwise the time of a commit would reveal what other spaces contain."""
    text = random.Random(space).randbytes(500_000).hex()
    await start(log, space, ADA, text)
    before = await backend.size()
    await start(log, Space(f"{space} of others"), ADA, text)
    assert await backend.size() - before > 400_000


async def test_events_and_their_contents_are_read_as_one(log: Log, space: Space) -> None:
    """A reader sees only complete commits."""

    async def write() -> None:
        for n in range(30):
            pair = prompt_event(f"{n} {BIG}"), prompt_event("end")
            await log.commit(space, commit_of(append(ADA, *pair, expected=2 * n)))

    writing = asyncio.ensure_future(write())
    while not writing.done():
        found = texts(await log.read(space, ADA))
        assert len(found) % 2 == 0
        assert all(text == "end" for text in found[1::2])
    await writing
