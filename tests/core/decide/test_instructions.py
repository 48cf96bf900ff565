"""Instructions that were read with a prompt: when they are stored, and what requests contain."""

from functools import reduce

import pytest
from msgspec import structs

from sapwood.core.budget import budget_of
from sapwood.core.commands import (
    Clear,
    CompleteTurn,
    Fork,
    KeepLast,
    SetMark,
    StartSuccessor,
    StartTurn,
    Undo,
)
from sapwood.core.content import Text
from sapwood.core.events import InstructionText, UnreadableEvent
from sapwood.core.evolve import evolve
from sapwood.core.ids import AgentId
from sapwood.core.refusals import TooLong
from sapwood.core.settings import Settings
from sapwood.core.state import State
from sapwood.testing import CoreHarness
from sapwood.testing.core_harness import CharacterCounter
from tests.core.speaking import conversation, does, kinds, refusal

CHILD = AgentId("child")


def read(*texts: str) -> tuple[InstructionText, ...]:
    return tuple(InstructionText("AGENTS.md", text) for text in texts)


def asks(world: CoreHarness, agent: AgentId, texts: tuple[InstructionText, ...] | None) -> None:
    """A whole turn, whose prompt came with these instructions."""
    does(world, StartTurn(agent, (Text("ask"),), texts))
    does(world, CompleteTurn(agent))


def system(world: CoreHarness, agent: AgentId) -> list[str]:
    return [block.text for block in world.request(agent).system]


def test_the_first_prompt_stores_them_before_the_users_own_prompt() -> None:
    world, agent = conversation(0, Settings(system="Be brief."))
    does(world, StartTurn(agent, (Text("ask"),), read("Use tabs.")))
    assert kinds(world, agent)[-2:] == ["instructions.read", "turn.started"]
    assert system(world, agent) == ["Use tabs.", "Be brief."]


def test_they_stay_as_they_were_read_until_head_moves() -> None:
    world, agent = conversation(0)
    asks(world, agent, read("Use tabs."))
    asks(world, agent, read("Use spaces."))
    assert system(world, agent) == ["Use tabs."]
    does(world, Clear(agent))
    assert system(world, agent) == ["Use tabs."]
    asks(world, agent, read("Use spaces."))
    assert system(world, agent) == ["Use spaces."]
    asks(world, agent, read("Use both."))
    assert system(world, agent) == ["Use spaces."]


def test_a_reading_of_the_same_text_also_counts_until_head_moves_again() -> None:
    world, agent = conversation(0)
    for _ in range(3):
        asks(world, agent, read("Use tabs."))
    does(world, KeepLast(agent, 1))
    asks(world, agent, read("Use tabs."))
    asks(world, agent, read("Use spaces."))
    assert system(world, agent) == ["Use tabs."]


def test_undo_moves_head_so_the_next_prompt_reads_again() -> None:
    world, agent = conversation(0)
    asks(world, agent, read("Use tabs."))
    does(world, Clear(agent))
    asks(world, agent, read("Use spaces."))
    does(world, Undo(agent))
    asks(world, agent, read("Use both."))
    assert system(world, agent) == ["Use both."]


def test_a_conversation_without_them_stays_without_until_head_moves() -> None:
    world, agent = conversation(2)
    asks(world, agent, read("Use tabs."))
    assert "instructions.read" not in kinds(world, agent)
    assert system(world, agent) == []
    does(world, Clear(agent))
    asks(world, agent, read("Use tabs."))
    assert system(world, agent) == ["Use tabs."]


def test_whoever_reads_none_changes_nothing() -> None:
    world, agent = conversation(0)
    asks(world, agent, None)
    assert "instructions.read" not in kinds(world, agent)
    other, again = conversation(0)
    asks(other, again, read("Use tabs."))
    does(other, Clear(again))
    asks(other, again, None)
    assert system(other, again) == ["Use tabs."]


def test_a_turn_without_a_reading_also_uses_the_prefix() -> None:
    world, agent = conversation(0)
    asks(world, agent, read("Use tabs."))
    does(world, Clear(agent))
    asks(world, agent, None)
    asks(world, agent, read("Use spaces."))
    assert system(world, agent) == ["Use tabs."]


def test_a_turn_whose_start_cannot_be_read_also_uses_the_prefix() -> None:
    world, agent = conversation(0)
    asks(world, agent, read("Use tabs."))
    does(world, Clear(agent))
    asks(world, agent, None)
    log = world.logs[agent]
    lost = UnreadableEvent("turn.started", b"{}", "a test", newer=False)
    *before, start, end = log
    assert start.kind == "turn.started"
    state = reduce(evolve, (*before, structs.replace(start, event=lost), end), State(agent))
    assert state.instructions_head == state.context.head


def test_those_that_are_gone_leave_when_head_has_moved() -> None:
    world, agent = conversation(0)
    asks(world, agent, read("Use tabs."))
    does(world, Clear(agent))
    asks(world, agent, ())
    assert system(world, agent) == []


@pytest.mark.parametrize("mark", [None, "HERE"])
def test_forks_inherit_them(mark: str | None) -> None:
    world, agent = conversation(0)
    asks(world, agent, read("Use tabs."))
    does(world, SetMark(agent, "HERE"))
    asks(world, agent, read("Use tabs."))
    does(world, Fork(agent, CHILD, mark))
    asks(world, CHILD, read("Use spaces."))
    assert system(world, CHILD) == ["Use tabs."]


def test_a_successor_reads_its_own() -> None:
    world, agent = conversation(0)
    asks(world, agent, read("Use tabs."))
    does(world, StartSuccessor(agent, CHILD))
    assert system(world, CHILD) == []
    asks(world, CHILD, read("Use spaces."))
    assert system(world, CHILD) == ["Use spaces."]


def test_the_meter_counts_them_and_blank_ones_are_left_out() -> None:
    world, agent = conversation(0, Settings(system="Be brief."))
    asks(world, agent, read("Use tabs.", "  \n"))
    assert system(world, agent) == ["Use tabs.", "Be brief."]
    budget = budget_of(world.states[agent], world.lives[agent], CharacterCounter())
    assert budget.system.tokens == len("Use tabs." + "Be brief.")


def test_a_text_without_end_is_refused() -> None:
    world, agent = conversation(0)
    start = StartTurn(agent, (Text("ask"),), read("x" * 200_001))
    assert isinstance(refusal(world, start), TooLong)
