"""Whoever works on a turn names it, so that one who comes too late cannot touch another."""

import pytest

from sapwood.core.commands import (
    AddReply,
    CallModel,
    Command,
    CompleteTurn,
    FailTurn,
    FinishTool,
    InterruptTurn,
    StartTool,
)
from sapwood.core.content import Text, ToolCall
from sapwood.core.ids import AgentId
from sapwood.core.refusals import AskedAgain, NoTurnOpen, TurnEnded
from sapwood.core.view.request import digest
from sapwood.testing import CoreHarness
from tests.core.speaking import conversation, does, last_event, opens, refusal

AGENT = conversation()[1]


def asked(world: CoreHarness, agent: AgentId) -> int:
    """Calls the model with the present request; returns where that stands."""
    does(world, CallModel(agent, "scripted", digest(world.request(agent))))
    return world.states[agent].version


def late(turn: int) -> dict[str, Command]:
    """What a worker may want to record in a turn."""
    return {
        "a reply": AddReply(AGENT, (Text("x"),), turn=turn),
        "a tool start": StartTool(AGENT, "1", turn=turn),
        "a result": FinishTool(AGENT, "1", "x", turn=turn),
        "an end": CompleteTurn(AGENT, turn=turn),
        "an interruption": InterruptTurn(AGENT, turn=turn),
        "a failure": FailTurn(AGENT, turn=turn),
    }


@pytest.mark.parametrize("kind", late(1))
def test_what_belongs_to_an_ended_turn_does_not_reach_the_next(kind: str) -> None:
    world, agent = conversation()
    opens(world, agent)
    ended = world.states[agent].open
    assert ended is not None
    does(world, AddReply(agent, (Text("done"),)))
    does(world, CompleteTurn(agent, turn=ended.first))
    assert refusal(world, late(ended.first)[kind]) == TurnEnded()
    opens(world, agent)
    does(world, AddReply(agent, (ToolCall("1", "look"),)))
    assert refusal(world, late(ended.first)[kind]) == TurnEnded()


def test_without_a_name_the_open_turn_is_meant() -> None:
    world, agent = conversation()
    assert refusal(world, CompleteTurn(agent)) == NoTurnOpen()
    opens(world, agent)
    does(world, CompleteTurn(agent))


def test_only_the_answer_to_the_last_model_call_counts() -> None:
    world, agent = conversation()
    opens(world, agent)
    first = asked(world, agent)
    second = asked(world, agent)
    assert refusal(world, AddReply(agent, (Text("late"),), asked=first)) == AskedAgain()
    assert refusal(world, FailTurn(agent, "late", asked=first)) == AskedAgain()
    does(world, AddReply(agent, (Text("in time"),), asked=second))


def test_a_model_call_is_answered_once() -> None:
    world, agent = conversation()
    opens(world, agent)
    call = asked(world, agent)
    does(world, AddReply(agent, (Text("once"),), asked=call))
    assert refusal(world, AddReply(agent, (Text("twice"),), asked=call)) == AskedAgain()
    assert last_event(world, agent).kind == "reply.added"
