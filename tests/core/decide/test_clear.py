"""`/clear` and `/clear N`: the context becomes exactly what was asked for."""

import pytest

from proofs.histories import MODEL
from sapwood.core.commands import (
    Clear,
    Command,
    Compact,
    CompleteTurn,
    KeepLast,
    ReadMail,
    Redo,
    Send,
    SetMark,
    Undo,
)
from sapwood.core.events import ContextTrimmed
from sapwood.core.ids import AgentId
from sapwood.core.refusals import BadArguments, TurnIsOpen
from tests.core.speaking import (
    conversation,
    does,
    kinds,
    last_event,
    marked,
    opens,
    refusal,
    said,
    uses_tool,
)

AGENT = AgentId("agent1")


def test_a_clear_is_a_fresh_start() -> None:
    world, agent = conversation(3)
    does(world, SetMark(agent, "HERE"))
    assert does(world, Clear(agent)) == "Context cleared."
    assert said(world, agent) == []
    assert marked(world, agent) == []


def test_a_clear_drops_the_summary_and_the_last_request() -> None:
    world, agent = conversation(2)
    does(world, Compact(agent, "It was about numbers."))
    does(world, Clear(agent))
    world.turn(agent, "new", "start")
    assert said(world, agent) == ["new", "start"]


def test_the_trim_point_says_how_much_was_left_behind() -> None:
    world, agent = conversation(1)
    uses_tool(world, agent, "ten chars!", prompt="look")
    does(world, Clear(agent))
    event = last_event(world, agent)
    assert isinstance(event, ContextTrimmed)
    assert (event.cause, event.turns, event.messages) == ("clear", 2, 6)
    assert event.tokens == len("ask 1answer 1" + "look" + "read{}" + "ten chars!" + "answer")


def test_the_log_keeps_everything() -> None:
    world, agent = conversation(2)
    before = list(world.logs[agent])
    does(world, Clear(agent))
    assert world.logs[agent][: len(before)] == before


def test_what_comes_after_a_clear_is_all_there_is() -> None:
    world, agent = conversation(2)
    does(world, Clear(agent))
    world.turn(agent, "ask 3", "answer 3")
    assert said(world, agent) == ["ask 3", "answer 3"]


def test_clearing_what_is_clear_changes_nothing_and_says_so() -> None:
    world, agent = conversation(1)
    does(world, Clear(agent))
    before = kinds(world, agent)
    assert does(world, Clear(agent)) == "The context is already empty."
    assert kinds(world, agent) == before


def test_a_clear_of_an_empty_context_still_drops_marks() -> None:
    world, agent = conversation()
    does(world, SetMark(agent, "HERE"))
    does(world, Clear(agent))
    assert marked(world, agent) == []


def test_a_clear_drops_notes_that_wait_and_undo_brings_them_back() -> None:
    world, agent = conversation(1)
    does(world, Send(agent, "m1", "The build is red."))
    does(world, ReadMail(agent))
    does(world, Clear(agent))
    assert world.states[agent].notes == ()
    does(world, Undo(agent))
    assert [note.text for note in world.states[agent].notes] == ["The build is red."]
    does(world, Redo(agent))
    opens(world, agent, "fresh")
    assert said(world, agent) == ["fresh"]


def test_a_clear_of_an_empty_context_still_drops_notes() -> None:
    world, agent = conversation()
    does(world, Send(agent, "m1", "The build is red."))
    does(world, ReadMail(agent))
    does(world, Clear(agent))
    assert world.states[agent].notes == ()


def test_a_bare_clear_of_the_model_drops_notes_that_wait() -> None:
    world, agent = conversation(1)
    opens(world, agent, "ask 2")
    does(world, Send(agent, "m1", "The build is red."))
    does(world, ReadMail(agent))
    world.do(Clear(agent), MODEL)
    does(world, CompleteTurn(agent))
    assert world.states[agent].notes == ()


@pytest.mark.parametrize("keep", [1, 2])
def test_clear_n_keeps_the_last_n_turns(keep: int) -> None:
    world, agent = conversation(3)
    does(world, KeepLast(agent, keep))
    assert said(world, agent) == ["ask 2", "answer 2", "ask 3", "answer 3"][-2 * keep :]


def test_clear_n_says_what_it_kept_and_what_left() -> None:
    world, agent = conversation(3)
    assert does(world, KeepLast(agent, 1)) == "Kept the last turn; 2 turns removed from view."
    world.turn(agent, "ask 4", "answer 4")
    assert does(world, KeepLast(agent, 1)) == "Kept the last turn; 1 turn removed from view."


@pytest.mark.parametrize("keep", [2, 3, 1_000_000])
def test_clear_n_of_all_turns_or_more_changes_nothing_and_says_so(keep: int) -> None:
    world, agent = conversation(2)
    before = list(world.logs[agent])
    assert does(world, KeepLast(agent, keep)) == "Nothing to trim: 2 turns in view."
    assert world.logs[agent] == before


@pytest.mark.parametrize("keep", [0, -1])
def test_clear_n_counts_from_one(keep: int) -> None:
    world, agent = conversation(2)
    assert isinstance(refusal(world, KeepLast(agent, keep)), BadArguments)


def test_clear_n_drops_the_summary_because_it_was_not_asked_for() -> None:
    world, agent = conversation(2)
    does(world, Compact(agent, "It was about numbers."))
    world.turn(agent, "ask 3", "answer 3")
    world.turn(agent, "ask 4", "answer 4")
    does(world, KeepLast(agent, 1))
    assert said(world, agent) == ["ask 4", "answer 4"]


@pytest.mark.parametrize("keep", [1, 7])
def test_clear_n_drops_the_summary_if_no_turn_has_to_leave(keep: int) -> None:
    world, agent = conversation(2)
    does(world, Compact(agent, "It was about numbers."))
    world.turn(agent, "ask 3", "answer 3")
    before = world.request(agent)
    assert (
        does(world, KeepLast(agent, keep)) == "Kept the last turn; the summary removed from view."
    )
    assert said(world, agent) == ["ask 3", "answer 3"]
    log = list(world.logs[agent])
    assert does(world, KeepLast(agent, keep)) == "Nothing to trim: 1 turn in view."
    assert world.logs[agent] == log
    does(world, Undo(agent))
    assert world.request(agent) == before


def test_clear_n_of_a_model_drops_the_summary_too() -> None:
    world, agent = conversation(2)
    does(world, Compact(agent, "It was about numbers."))
    opens(world, agent, "ask 3")
    world.do(KeepLast(agent, 5), MODEL)
    does(world, CompleteTurn(agent))
    assert said(world, agent)[0] == "ask 3"


def test_clear_n_keeps_the_last_request_if_no_turn_in_view_has_one() -> None:
    world, agent = conversation(2)
    does(world, Compact(agent, "It was about numbers."))
    does(world, KeepLast(agent, 1))
    assert "ask 2" in said(world, agent)[0]
    assert "numbers" not in said(world, agent)[0]


def test_clear_n_keeps_marks() -> None:
    world, agent = conversation(1)
    does(world, SetMark(agent, "HERE"))
    world.turn(agent, "ask 2", "answer 2")
    does(world, KeepLast(agent, 1))
    assert marked(world, agent) == ["HERE"]


@pytest.mark.parametrize("command", [Clear(AGENT), KeepLast(AGENT, 1)], ids=["all", "but one"])
def test_a_person_cannot_clear_under_a_running_turn(command: Command) -> None:
    world, agent = conversation(2)
    opens(world, agent)
    reason = refusal(world, command)
    assert reason == TurnIsOpen("/clear")
    assert "press esc" in reason.sentence
