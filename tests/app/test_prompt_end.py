"""When a prompt has ended: by its turn, by failures to drive it, and not by a restarted turn."""

import re
from collections.abc import AsyncGenerator, Callable, Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sapwood
from sapwood.app.connection import Connection, connect
from sapwood.app.prompt_end import (
    MAX_FAILURES,
    DriveFailure,
    PromptEnd,
    PromptProgress,
    StreamedWords,
)
from sapwood.core.commands import FailTurn, InterruptTurn
from sapwood.core.content import ReplyPart, Text, Thinking, ToolCall
from sapwood.core.context import ROOT
from sapwood.core.events import Actor, Event, ModelCalled, Recorded, ReplyAdded
from sapwood.core.ids import AgentId, CommandId
from sapwood.core.live_words import LiveWords, deltas_after, deltas_before, size_of_words
from sapwood.core.model_calls import Delta
from sapwood.testing import FakeModel, slash


@pytest.fixture
async def connection(tmp_path: Path) -> AsyncGenerator[Connection]:
    """A database in a file of its own."""
    opened = await connect(tmp_path / "sapwood.db", secrets=())
    yield opened
    await opened.close()


async def ends(connection: Connection, agent: sapwood.Agent) -> list[PromptEnd]:
    progress = PromptProgress(connection, AgentId(agent.id))
    found = [await progress.end_after(each) for each in await agent.events()]
    return [each for each in found if each is not None]


async def test_each_end_of_a_turn_has_a_status_and_a_sentence(connection: Connection) -> None:
    async with sapwood.open(connection.log) as db:
        agent = await db.start("demo", model="planned")
        async with agent.turn("One.") as turn:
            await turn.reply("Done.")
        await agent.prompt("Two.")
        await agent.do(FailTurn(AgentId(agent.id), "No network.", failure="no_network"))
        await agent.prompt("Three.")
        await agent.do(InterruptTurn(AgentId(agent.id), "enough"))
        assert await ends(connection, agent) == [
            PromptEnd("completed"),
            PromptEnd("failed", "No network.", failure="no_network"),
            PromptEnd("interrupted", "The turn was interrupted: enough.", reason="enough"),
        ]


async def test_a_model_that_goes_back_to_the_start_of_its_turn_has_not_ended_it() -> None:
    said = iter((slash("mark", "T"), slash("clear", "T Not this way."), "Done."))
    async with (
        sapwood.open(":memory:") as db,
        sapwood.runtime(db, models=FakeModel(lambda _, __: next(said)), commands=True),
    ):
        agent = await db.start("demo", model="planned")
        await agent.ask("Go.")
        kinds = [each.kind for each in await agent.events()]
        assert kinds.count("turn.completed") == 2
        assert len(await ends(agent.connection, agent)) == 1


async def test_failures_in_a_row_end_the_wait_and_a_reply_starts_to_count_anew(
    connection: Connection,
) -> None:
    async with sapwood.open(connection.log) as db:
        agent = await db.start("demo", model="planned")
        async with agent.turn("One.") as turn:
            await turn.reply("Done.")
        [reply] = [each for each in await agent.events() if each.kind == "reply.added"]
        progress = PromptProgress(connection, AgentId(agent.id))
        failure = DriveFailure("The disk is full.")
        seen: list[Recorded | Delta | DriveFailure] = [failure] * (MAX_FAILURES - 1)
        seen += [Delta("text", "Hm."), reply, *[failure] * (MAX_FAILURES - 1)]
        assert [await progress.end_after(each) for each in seen] == [None] * len(seen)
        stuck = await progress.end_after(failure)
    assert stuck is not None
    assert stuck.status == "stuck"
    assert stuck.message == f"The disk is full. The turn of {agent.id} is still open."


PARTS = st.lists(
    st.one_of(
        st.builds(Text, st.text(min_size=1, max_size=4)),
        st.builds(Thinking, st.text(min_size=1, max_size=4)),
        st.builds(ToolCall, st.just("c"), st.just("shell"), st.just("{}")),
    ),
    min_size=1,
    max_size=4,
).map(tuple[ReplyPart, ...])


def _words(deltas: Iterable[Delta]) -> list[tuple[str, str]]:
    """The letters of deltas with their kinds, and the names of calls."""
    return [(each.kind, part) for each in deltas for part in each.text or [each.name]]


def _recorded(version: int, event: Event) -> Recorded:
    return Recorded(AgentId("bcdfghjkmnpq"), version, event, 0, Actor("system"), CommandId("c"))


@given(PARTS, st.data())
def test_a_stream_that_is_resumed_after_any_delta_misses_and_repeats_no_word(
    parts: tuple[ReplyPart, ...], data: st.DataObject
) -> None:
    whole = size_of_words(parts)
    sizes = sorted(data.draw(st.sets(st.integers(1, whole), max_size=4)))
    stream: list[Recorded | LiveWords] = [_recorded(7, ModelCalled("oak", ROOT, "hash"))]
    stream += [LiveWords(7, CommandId("c"), _first(parts, size)) for size in sizes]
    stream += [_recorded(8, ReplyAdded(parts))]
    follower = StreamedWords(6)
    seen = [(place, each) for place, what in enumerate(stream) for each in follower.deltas_of(what)]
    last = data.draw(st.integers(-1, len(seen) - 1))  # -1: away since the model was called
    place, item = seen[last] if last >= 0 else (1, Delta("text", "", version=7))
    resumed = StreamedWords(item.version, item.size)
    missed = data.draw(st.integers(max(1, place), len(stream) - 1))  # words that came meanwhile
    rest = [each for what in stream[missed:] for each in resumed.deltas_of(what)]
    before = [each for _, each in seen[: last + 1]]
    assert sorted(_words(before + rest)) == sorted(_words(each for _, each in seen))
    assert sorted(_words(before + rest)) == sorted(_words(deltas_after(parts, 0)))


@given(PARTS, st.data())
def test_what_a_reply_in_another_order_adds_to_its_stream_has_a_place(
    parts: tuple[ReplyPart, ...], data: st.DataObject
) -> None:
    streamed = data.draw(st.integers(0, size_of_words(parts)))
    reply = data.draw(st.permutations(parts).map(tuple[ReplyPart, ...]))
    follower = StreamedWords(7)
    follower.deltas_of(LiveWords(7, CommandId("c"), _first(parts, streamed)))
    sizes = [streamed]
    for each in follower.deltas_of(_recorded(8, ReplyAdded(reply))):
        assert each.version == 7
        sizes.append(each.size)
    assert sizes == sorted(set(sizes))


def _first(parts: tuple[ReplyPart, ...], size: int) -> tuple[ReplyPart, ...]:
    """The first characters of a reply, as a provider sends them."""
    made: dict[str, Callable[[Delta], ReplyPart]] = {
        "text": lambda each: Text(each.text),
        "thinking": lambda each: Thinking(each.text),
        "call": lambda each: ToolCall("c", each.name, "{}"),
    }
    return tuple(made[each.kind](each) for each in deltas_before(parts, size))


def test_no_face_has_a_rule_of_its_own() -> None:
    sources = Path(sapwood.__file__).parent
    for file in sources.rglob("*.py"):
        if file.name != "prompt_end.py":
            assert not re.search(r"MAX_FAILURES = ", file.read_text()), file
