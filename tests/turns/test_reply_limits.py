"""A reply without bounds ends as a failure in time, and the agent can be used afterwards."""

from collections.abc import AsyncGenerator

import pytest

from sapwood.core.content import Text, ToolCall
from sapwood.core.events import ToolFinished, ToolStarted, TurnFailed
from sapwood.core.model_calls import Answer, Delta, Failure
from sapwood.core.view import Request
from sapwood.testing.fake_model import Planned
from sapwood.turns import model_access
from sapwood.turns.model_access import MAX_CALLS, bounded_reply
from tests.turns.test_driver import house


async def test_more_calls_than_the_limit_end_the_turn_and_none_is_run() -> None:
    def plan(request: Request, heard: str) -> Planned:
        if heard == "Go on.":
            return "Here I am."
        return [ToolCall(f"c{n}", "look", "{}") for n in range(MAX_CALLS + 1)]

    async with house(plan) as at:
        agent = await at.db.start("demo", model="scripted")
        await agent.prompt("Look.")
        await at.idle(agent)
        events = [each.event for each in await agent.events()]
        [failed] = [event for event in events if isinstance(event, TurnFailed)]
        assert str(MAX_CALLS) in failed.error
        assert not any(isinstance(event, ToolStarted | ToolFinished) for event in events)
        await agent.prompt("Go on.")
        await at.idle(agent)
        assert "Here I am." in str((await agent.events())[-3:])


async def test_as_many_calls_as_the_limit_are_run() -> None:
    def plan(request: Request, heard: str) -> Planned:
        if heard != "Look.":
            return "Done."
        return [ToolCall(f"c{n}", "look", "{}") for n in range(MAX_CALLS)]

    async with house(plan) as at:
        agent = await at.db.start("demo", model="scripted")
        await agent.prompt("Look.")
        await at.idle(agent)
        results = [e for e in await agent.events() if isinstance(e.event, ToolFinished)]
    assert len(results) == MAX_CALLS


async def pieces_of(*pieces: Delta | Answer) -> AsyncGenerator[Delta | Answer]:
    for piece in pieces:
        yield piece


@pytest.mark.parametrize(
    "pieces",
    [
        [Delta("call", "", "look")] * 5,
        [Answer(tuple(ToolCall(f"c{n}", "look") for n in range(5)))],
        [Delta("text", "x" * 60), Delta("thinking", "x" * 60)],
        [Delta("call", "x" * 101, "look")],
        [Answer((Text("x" * 60), ToolCall("c", "look", "x" * 60)))],
    ],
)
async def test_a_reply_is_not_read_beyond_the_limit(
    pieces: list[Delta | Answer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_access, "MAX_CALLS", 4)
    monkeypatch.setattr(model_access, "MAX_CHARACTERS", 100)
    source = pieces_of(*pieces, Delta("text", "never read"))
    with pytest.raises(Failure):
        [each async for each in bounded_reply(source)]
    with pytest.raises(StopAsyncIteration):  # it was closed, so its connection was too
        await anext(source)


async def test_pieces_of_one_call_count_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_access, "MAX_CALLS", 1)
    pieces = [Delta("call", "{", "look"), *[Delta("call", " ")] * 9, Delta("call", "}")]
    assert [each async for each in bounded_reply(pieces_of(*pieces))] == pieces
