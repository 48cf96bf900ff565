"""Marks: names for contexts, which the model never sees."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.core.commands import Rewind, SetMark
from sapwood.core.decide.guards import MARK_NAME
from sapwood.core.refusals import BadMarkName
from sapwood.core.state import MARKS_KEPT
from tests.core.speaking import conversation, does, kinds, marked, opens, refusal, said


def test_a_mark_says_its_name_and_an_unnamed_one_does_not() -> None:
    world, agent = conversation(1)
    assert does(world, SetMark(agent, "BEFORE_REFACTOR")) == "Marked 'BEFORE_REFACTOR'."
    assert does(world, SetMark(agent)) == "Marked."


def test_a_mark_is_in_the_log_and_never_in_a_request() -> None:
    world, agent = conversation(2)
    before = world.request(agent)
    does(world, SetMark(agent, "HERE"))
    does(world, SetMark(agent))
    assert kinds(world, agent)[-2:] == ["mark.set", "mark.set"]
    assert world.request(agent) == before


@pytest.mark.parametrize("name", ["T", "_", "task.1", "a-b", "_9", "A" * 64])
def test_names_that_can_be_typed_and_told_from_numbers_are_taken(name: str) -> None:
    world, agent = conversation()
    does(world, SetMark(agent, name))
    assert marked(world, agent) == [name]


@pytest.mark.parametrize(
    "name", ["3", "3rd", "-x", ".x", "two words", "A" * 65, "é", "a/b", "a\n", "A\u200b", " "]
)
def test_other_names_are_refused(name: str) -> None:
    world, agent = conversation()
    assert refusal(world, SetMark(agent, name)) == BadMarkName(name)


@given(st.text(max_size=80))
def test_a_name_is_taken_exactly_if_it_matches_the_pattern(name: str) -> None:
    world, agent = conversation()
    world.do(SetMark(agent, name))
    fits = name == "" or MARK_NAME.fullmatch(name) is not None
    assert marked(world, agent) == ([name] if fits else [])


def test_names_are_case_sensitive() -> None:
    world, agent = conversation()
    does(world, SetMark(agent, "Here"))
    does(world, SetMark(agent, "HERE"))
    assert marked(world, agent) == ["Here", "HERE"]


def test_using_a_name_again_moves_the_mark() -> None:
    world, agent = conversation(1)
    does(world, SetMark(agent, "HERE"))
    world.turn(agent, "ask 2", "answer 2")
    does(world, SetMark(agent, "HERE"))
    world.turn(agent, "ask 3", "answer 3")
    does(world, Rewind(agent, "HERE"))
    assert marked(world, agent) == ["HERE"]
    assert said(world, agent) == ["ask 1", "answer 1", "ask 2", "answer 2"]


def test_a_moved_mark_is_the_newest() -> None:
    world, agent = conversation()
    for name in ("A", "B", "A"):
        does(world, SetMark(agent, name))
    assert marked(world, agent) == ["B", "A"]


def test_unnamed_marks_pile_up() -> None:
    world, agent = conversation()
    for _ in range(3):
        does(world, SetMark(agent))
    assert marked(world, agent) == ["", "", ""]


def test_the_same_mark_at_the_same_place_is_set_once() -> None:
    world, agent = conversation(1)
    does(world, SetMark(agent, "HERE"))
    before = list(world.logs[agent])
    assert does(world, SetMark(agent, "HERE")) == "'HERE' already marks this point."
    assert world.logs[agent] == before


def test_a_mark_may_be_set_while_a_turn_is_open_and_means_its_start() -> None:
    world, agent = conversation(1)
    before = world.states[agent].context
    opens(world, agent, "ask 2")
    does(world, SetMark(agent, "INSIDE"))
    (mark,) = world.states[agent].marks
    turn = world.lives[agent].open
    assert turn is not None
    assert (mark.context, mark.turn) == (before, turn.first)


def test_the_oldest_mark_goes_when_there_are_too_many() -> None:
    world, agent = conversation()
    for number in range(MARKS_KEPT + 1):
        does(world, SetMark(agent, f"m{number}"))
    assert len(world.states[agent].marks) == MARKS_KEPT
    assert marked(world, agent)[0] == "m1"
