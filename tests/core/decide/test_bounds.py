"""What an agent holds has a limit, and beyond it a refusal that says what to do."""

import pytest

from sapwood.core.commands import (
    AddPin,
    AddReply,
    CallModel,
    Command,
    CommandMeta,
    CompleteTurn,
    Focus,
    Fork,
    Kill,
    ReadMail,
    RemovePin,
    Rewind,
    Send,
    SetMark,
    StartAgent,
    StartSuccessor,
    StartTurn,
    Unfocus,
)
from sapwood.core.content import Text, Usage
from sapwood.core.decide import DecisionInput, decide
from sapwood.core.events import Actor, Pin
from sapwood.core.ids import AgentId, CommandId
from sapwood.core.live_path import EMPTY
from sapwood.core.refusals import BadId, MailboxFull, TooManyPins, TooManyTopics
from sapwood.core.state import BACKGROUND_KEPT, FOCUS_LIMIT, PINS_LIMIT, WAITING_LIMIT, State
from sapwood.core.view.request import digest
from sapwood.testing import CoreHarness
from sapwood.testing.core_harness import CharacterCounter
from tests.core.speaking import conversation, does, opens, refusal


def full_of_mail() -> tuple[CoreHarness, AgentId]:
    world, agent = conversation()
    for number in range(WAITING_LIMIT):
        does(world, Send(agent, f"m{number}", "Look."))
    return world, agent


def test_mail_is_refused_until_some_was_read() -> None:
    world, agent = full_of_mail()
    late = Send(agent, "late", "Look here.")
    assert refusal(world, late) == MailboxFull(agent, WAITING_LIMIT)
    does(world, ReadMail(agent, "tool"))
    does(world, late)


def test_what_was_read_and_waits_for_a_prompt_still_counts() -> None:
    world, agent = full_of_mail()
    does(world, ReadMail(agent))
    assert isinstance(refusal(world, Send(agent, "late", "Look here.")), MailboxFull)
    does(world, StartTurn(agent, (Text("Go on."),)))
    does(world, Send(agent, "late", "Look here."))


def test_notes_of_ones_own_find_no_room_either() -> None:
    world, agent = full_of_mail()
    does(world, SetMark(agent, "HERE"))
    assert isinstance(refusal(world, Rewind(agent, "HERE", "a note")), MailboxFull)
    delegated = Fork(agent, AgentId("child"), goal="Find it.", delegated=True)
    assert isinstance(refusal(world, delegated), MailboxFull)
    does(world, Rewind(agent, "HERE"))


def test_one_pin_too_many_is_refused_and_a_new_text_for_an_old_name_is_not() -> None:
    world, agent = conversation()
    for number in range(PINS_LIMIT):
        does(world, AddPin(agent, f"pin {number}", "text"))
    assert refusal(world, AddPin(agent, "one more", "text")) == TooManyPins(PINS_LIMIT)
    does(world, AddPin(agent, "pin 0", "another text"))
    does(world, RemovePin(agent, "pin 1"))
    does(world, AddPin(agent, "one more", "text"))


def test_nobody_starts_with_too_many_pins() -> None:
    pins = tuple(Pin(f"pin {number}", "text") for number in range(PINS_LIMIT + 1))
    start = StartAgent(AgentId("new"), pins=pins)
    assert refusal(CoreHarness(), start) == TooManyPins(PINS_LIMIT)
    does(CoreHarness(), StartAgent(AgentId("new"), pins=pins[1:] + pins[1:]))


def test_one_topic_too_many_is_refused_and_the_background_forgets_the_oldest() -> None:
    world, agent = conversation()
    for number in range(FOCUS_LIMIT):
        does(world, Focus(agent, f"topic {number}"))
    assert refusal(world, Focus(agent, "one more")) == TooManyTopics(FOCUS_LIMIT)
    does(world, Focus(agent, "topic 0", priority=3))
    for number in range(BACKGROUND_KEPT + 1):
        does(world, Unfocus(agent, f"old {number}"))
    background = world.states[agent].background
    assert len(background) == BACKGROUND_KEPT
    assert (background[0], background[-1]) == ("old 1", f"old {BACKGROUND_KEPT}")


def learnt() -> tuple[CoreHarness, AgentId]:
    """An agent whose model counts half as many tokens again as was estimated."""
    world, agent = conversation()
    opens(world, agent)
    does(world, CallModel(agent, "scripted", digest(world.request(agent)), 1_000))
    does(world, AddReply(agent, (Text("x"),), usage=Usage(input=1_500)))
    return world, agent


def test_a_child_counts_as_its_parent_learnt_to() -> None:
    world, agent = learnt()
    does(world, Fork(agent, AgentId("child")))
    assert world.states[AgentId("child")].ratio("scripted").apply(100) == 150


def test_a_successor_does_too() -> None:
    world, agent = learnt()
    does(world, CompleteTurn(agent))
    does(world, StartSuccessor(agent, AgentId("next")))
    assert world.states[AgentId("next")].ratio("scripted").apply(100) == 150


AGENT = AgentId("abc")
BAD = ("nul\0", "half\ud83c")


def decided(command: Command, *, id: str = "c", actor: str = "") -> object:
    given = CommandMeta(CommandId(id), 0, Actor("human", actor))
    return decide(DecisionInput(State(AGENT), EMPTY, CharacterCounter()), command, given)


@pytest.mark.parametrize("bad", BAD)
def test_an_id_that_no_store_could_hold_is_refused(bad: str) -> None:
    other = AgentId(bad)
    commands = (
        *(SetMark(other, "A"), Fork(AGENT, other), StartSuccessor(AGENT, other)),
        *(Send(AGENT, "m", "x", other), Kill(AGENT, other), StartAgent(other)),
        StartAgent(AGENT, parent=other),
    )
    for command in commands:
        assert decided(command) == BadId(bad)
    assert decided(SetMark(AGENT, "A"), id=bad) == BadId(bad)
    assert decided(SetMark(AGENT, "A"), actor=bad) == BadId(bad)


def test_any_other_id_is_fine() -> None:
    assert not isinstance(decided(StartAgent(AgentId("tab\t 数据 🌲")), id="\x1f"), BadId)
