"""`/rewind` and `/clear MARK`: tip, head and summary as they were at the mark."""

import pytest

from sapwood.core.commands import (
    Compact,
    CompleteTurn,
    KeepLast,
    MaskResults,
    Rewind,
    SetMark,
    Undo,
)
from sapwood.core.events import ContextRewound
from sapwood.core.refusals import NoMarks, NothingToUndo, TurnIsOpen, UnknownMark
from tests.core.speaking import (
    conversation,
    does,
    last_event,
    marked,
    opens,
    refusal,
    results,
    said,
    uses_tool,
)


def test_a_rewind_restores_the_identical_request() -> None:
    world, agent = conversation(2)
    does(world, SetMark(agent, "HERE"))
    before = world.request(agent)
    world.turn(agent, "ask 3", "answer 3")
    assert does(world, Rewind(agent, "HERE")) == "Rewound to 'HERE'."
    assert world.request(agent) == before


def test_head_and_summary_are_as_they_were_too() -> None:
    world, agent = conversation(2)
    does(world, Compact(agent, "It was about numbers."))
    world.turn(agent, "ask 3", "answer 3")
    world.turn(agent, "ask 4", "answer 4")
    does(world, SetMark(agent, "HERE"))
    before = world.request(agent)
    does(world, KeepLast(agent, 1))
    does(world, Compact(agent, "Something else."))
    does(world, Rewind(agent, "HERE"))
    assert world.request(agent) == before


def test_masked_results_are_masked_again() -> None:
    world, agent = conversation()
    uses_tool(world, agent, "x" * 500)
    does(world, MaskResults(agent, 100))
    does(world, SetMark(agent, "HERE"))
    before = world.request(agent)
    world.turn(agent, "ask", "answer")
    does(world, Rewind(agent, "HERE"))
    assert world.request(agent) == before


def test_a_named_mark_survives_a_rewind_to_it_and_later_ones_go() -> None:
    world, agent = conversation()
    for name in ("A", "B", "C"):
        does(world, SetMark(agent, name))
        world.turn(agent, f"after {name}", "answer")
    does(world, Rewind(agent, "B"))
    assert marked(world, agent) == ["A", "B"]
    does(world, Rewind(agent, "B"))
    assert marked(world, agent) == ["A", "B"]


def test_marks_at_the_same_place_stay() -> None:
    world, agent = conversation(1)
    for name in ("A", "B"):
        does(world, SetMark(agent, name))
    world.turn(agent, "ask 2", "answer 2")
    does(world, SetMark(agent, "C"))
    does(world, Rewind(agent, "A"))
    assert marked(world, agent) == ["A", "B"]


@pytest.mark.parametrize("name", ["", "M"])
def test_a_rewind_to_the_present_place_is_no_step(name: str) -> None:
    world, agent = conversation(1)
    does(world, SetMark(agent, name))
    before = list(world.logs[agent])
    assert does(world, Rewind(agent, name or None)).startswith("Nothing changed")
    assert world.logs[agent] == before
    world.turn(agent, "B", "answer")
    world.turn(agent, "C", "answer")
    assert refusal(world, Undo(agent)) == NothingToUndo()
    assert said(world, agent)[::2] == ["ask 1", "B", "C"]


def test_turns_made_since_a_rewind_that_moved_head_alone_stay() -> None:
    world, agent = conversation(2)
    does(world, SetMark(agent, "M"))
    does(world, KeepLast(agent, 1))
    does(world, Rewind(agent, "M"))
    world.turn(agent, "B", "answer")
    does(world, Undo(agent))
    assert said(world, agent)[::2] == ["ask 2", "B"]


def test_an_unnamed_mark_is_used_up() -> None:
    world, agent = conversation(1)
    does(world, SetMark(agent))
    world.turn(agent, "ask 2", "answer 2")
    does(world, SetMark(agent))
    world.turn(agent, "ask 3", "answer 3")
    assert does(world, Rewind(agent)) == "Rewound to the last mark."
    assert said(world, agent) == ["ask 1", "answer 1", "ask 2", "answer 2"]
    does(world, Rewind(agent))
    assert said(world, agent) == ["ask 1", "answer 1"]
    assert refusal(world, Rewind(agent)) == NoMarks()


def test_a_bare_rewind_goes_to_the_newest_mark_named_or_not() -> None:
    world, agent = conversation()
    does(world, SetMark(agent))
    world.turn(agent, "ask 1", "answer 1")
    does(world, SetMark(agent, "NAMED"))
    world.turn(agent, "ask 2", "answer 2")
    does(world, Rewind(agent))
    assert said(world, agent) == ["ask 1", "answer 1"]


def test_an_empty_name_means_the_newest_unnamed_mark() -> None:
    world, agent = conversation()
    does(world, SetMark(agent))
    world.turn(agent, "ask 1", "answer 1")
    does(world, SetMark(agent))
    does(world, SetMark(agent, "NAMED"))
    does(world, Rewind(agent, ""))
    assert said(world, agent) == ["ask 1", "answer 1"]


def test_marks_are_independent_places_to_go_back_to() -> None:
    world, agent = conversation()
    does(world, SetMark(agent, "PHASE_1"))
    world.turn(agent, "one", "1")
    does(world, SetMark(agent, "PHASE_2"))
    world.turn(agent, "two", "2")
    does(world, Rewind(agent, "PHASE_2"))
    assert said(world, agent) == ["one", "1"]
    does(world, Rewind(agent, "PHASE_1"))
    assert said(world, agent) == []


def test_an_unknown_mark_is_refused_with_the_nearest_names() -> None:
    world, agent = conversation()
    for name in ("BEFORE_REFACTOR", "AFTER"):
        does(world, SetMark(agent, name))
    reason = refusal(world, Rewind(agent, "before_refactr"))
    assert reason == UnknownMark(
        "before_refactr", ("BEFORE_REFACTOR",), ("BEFORE_REFACTOR", "AFTER")
    )
    assert "Did you mean BEFORE_REFACTOR?" in reason.sentence
    assert "Marks: BEFORE_REFACTOR, AFTER." in reason.sentence


def test_only_the_exact_name_is_taken() -> None:
    world, agent = conversation()
    does(world, SetMark(agent, "Here"))
    assert isinstance(refusal(world, Rewind(agent, "here")), UnknownMark)


def test_a_note_waits_for_the_next_prompt() -> None:
    world, agent = conversation(1)
    does(world, SetMark(agent, "HERE"))
    does(world, Rewind(agent, "HERE", "  Retries did not help.\n"))
    opens(world, agent, "try again")
    assert said(world, agent)[-1] == (
        "[A note to yourself, from before the context was rewound]\n"
        "Retries did not help.\n\ntry again"
    )


@pytest.mark.parametrize("note", ["", " \n\t"])
def test_a_blank_note_is_none(note: str) -> None:
    world, agent = conversation(1)
    does(world, SetMark(agent, "HERE"))
    does(world, Rewind(agent, "HERE", note))
    assert world.states[agent].notes == ()


def test_a_rewind_is_a_fact_with_the_context_it_led_to() -> None:
    world, agent = conversation(1)
    does(world, SetMark(agent, "HERE"))
    context = world.states[agent].context
    world.turn(agent, "ask 2", "answer 2")
    does(world, Rewind(agent, "HERE"))
    event = last_event(world, agent)
    assert isinstance(event, ContextRewound)
    assert (event.mark, event.context) == ("HERE", context)


def test_turns_left_behind_stay_in_the_log_as_a_side_branch() -> None:
    world, agent = conversation(1)
    does(world, SetMark(agent, "HERE"))
    world.turn(agent, "ask 2", "answer 2")
    does(world, Rewind(agent, "HERE"))
    world.turn(agent, "other 2", "answer 2")
    assert said(world, agent) == ["ask 1", "answer 1", "other 2", "answer 2"]
    assert world.read_live(agent) == world.lives[agent]


def test_a_person_cannot_rewind_under_a_running_turn() -> None:
    world, agent = conversation(1)
    does(world, SetMark(agent, "HERE"))
    opens(world, agent)
    assert refusal(world, Rewind(agent, "HERE")) == TurnIsOpen("/rewind")


def test_a_mark_set_in_an_open_turn_leads_back_to_its_start() -> None:
    world, agent = conversation(1)
    opens(world, agent, "ask 2")
    does(world, SetMark(agent, "INSIDE"))
    does(world, CompleteTurn(agent))
    does(world, Rewind(agent, "INSIDE"))
    assert said(world, agent) == ["ask 1", "answer 1"]
    assert world.states[agent].open is None


def test_results_masked_in_the_marks_own_turn_stay_masked() -> None:
    world, agent = conversation()
    uses_tool(world, agent, "x" * 500)
    opens(world, agent, "ask 2")
    does(world, MaskResults(agent, 100))
    does(world, SetMark(agent, "INSIDE"))
    stub = results(world, agent)
    does(world, CompleteTurn(agent))
    does(world, Rewind(agent, "INSIDE"))
    assert results(world, agent) == stub
    assert stub[0].startswith("[masked: 500 characters")
