"""A turn, folded from the slice of a log that holds it."""

import pytest

from sapwood.core.commands import (
    AddPin,
    AddReply,
    CompleteTurn,
    FinishTool,
    Send,
    StartTool,
)
from sapwood.core.content import Note, Text, Thinking, ToolCall
from sapwood.core.events import HUMAN, AgentForked, Recorded
from sapwood.core.ids import AgentId, CommandId, EventRef, TurnRef
from sapwood.core.turn import Reply, Turn, fold_turn, grow
from sapwood.testing import CoreHarness
from tests.core.speaking import conversation, does, opens, uses_tool

A, B = AgentId("a"), AgentId("b")


def a_long_turn() -> tuple[CoreHarness, AgentId]:
    """A turn with two calls, one of them running, and other facts in between."""
    world, agent = conversation(1)
    opens(world, agent, "ask 2")
    does(world, Send(agent, "m1", "Look."))
    calls = (ToolCall("1", "read"), ToolCall("2", "run"))
    does(world, AddReply(agent, (Text("Let me look."), *calls)))
    does(world, StartTool(agent, "1"))
    does(world, AddPin(agent, "rule", "x"))
    does(world, StartTool(agent, "2"))
    does(world, FinishTool(agent, "1", "found", error=True))
    return world, agent


def slice_of(world: CoreHarness, agent: AgentId, first: int) -> list[Recorded]:
    """The log from a version on."""
    return world.logs[agent][first - 1 :]


def test_a_fold_of_the_slice_is_what_growth_gives() -> None:
    world, agent = a_long_turn()
    grown = world.lives[agent].open
    assert grown is not None
    events = slice_of(world, agent, grown.first)
    assert fold_turn(events) == grown
    turn = fold_turn(events[:1])
    for recorded in events[1:]:
        turn = grow(turn, recorded)
    assert turn == grown


def test_other_facts_are_passed_over() -> None:
    world, agent = a_long_turn()
    turn = world.lives[agent].open
    assert turn is not None
    assert grow(turn, Recorded(agent, 99, AgentForked(B), 0, HUMAN, CommandId("c"))) == turn


def test_it_knows_its_calls_those_without_a_result_and_those_that_started() -> None:
    world, agent = a_long_turn()
    turn = world.lives[agent].open
    assert turn is not None
    assert list(turn.calls) == ["1", "2"]
    assert [call.id for call in turn.open_calls] == ["2"]
    assert turn.started == {"2"}
    assert turn.call_ids == {"1", "2"}


def test_an_ended_turn_forgets_what_only_an_open_one_needs() -> None:
    world, agent = conversation()
    uses_tool(world, agent, "found")
    assert world.lives[agent].turns[0].call_ids == frozenset()


def test_a_slice_must_begin_with_a_prompt() -> None:
    world, agent = conversation(1)
    with pytest.raises(ValueError, match="does not open a turn"):
        fold_turn(world.logs[agent])


def test_only_an_ended_turn_has_a_place_in_the_tree() -> None:
    world, agent = conversation(1)
    (ended,) = world.lives[agent].turns
    assert ended.ref == TurnRef(agent, 2, 4)
    opens(world, agent)
    turn = world.lives[agent].open
    assert turn is not None
    with pytest.raises(ValueError, match="no place in the tree"):
        _ = turn.ref


def test_it_covers_the_events_between_its_first_and_its_last() -> None:
    ended = Turn(A, 5, None, (), status="completed", last=9)
    assert [ended.covers(EventRef(A, version)) for version in (4, 5, 9, 10)] == [0, 1, 1, 0]
    assert not ended.covers(EventRef(B, 7))
    assert Turn(A, 5, None, ()).covers(EventRef(A, 1_000))


def test_notes_alone_are_no_request() -> None:
    assert Turn(A, 1, None, (Note("mail", "x"), Text("y"))).is_request
    assert not Turn(A, 1, None, (Note("mail", "x"),)).is_request


def test_messages_are_counted_as_a_reader_would() -> None:
    world, agent = conversation()
    uses_tool(world, agent, "found")
    assert world.lives[agent].turns[0].messages == 4


def test_every_text_that_a_model_would_be_sent_is_counted() -> None:
    parts = (Thinking("hm"), Text("said"), ToolCall("1", "read", '{"a":1}'))
    turn = Turn(A, 1, None, (Text("ask"),), (Reply(2, parts),))
    assert turn.texts() == ["ask", "hm", "said", "read", '{"a":1}']


def test_a_turn_ends_once() -> None:
    world, agent = a_long_turn()
    does(world, FinishTool(agent, "2", "ran"))
    does(world, CompleteTurn(agent))
    turn = world.lives[agent].turns[-1]
    assert (turn.status, turn.last) == ("completed", len(world.logs[agent]))
