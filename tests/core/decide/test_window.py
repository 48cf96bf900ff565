"""The window moves `head` when live history outgrows its cap, and stops at the low-water mark."""

import pytest

from sapwood.core.commands import (
    AddReply,
    CallModel,
    Compact,
    CompleteTurn,
    Configure,
    FailTurn,
    InterruptTurn,
    RecordTurn,
    SetMark,
)
from sapwood.core.content import RecordedReply, Text, Usage
from sapwood.core.events import ContextTrimmed
from sapwood.core.history_size import history
from sapwood.core.ids import AgentId
from sapwood.core.settings import Settings, SettingsChange
from sapwood.core.token_count import Count
from sapwood.core.view.request import digest
from sapwood.testing import CoreHarness
from tests.core.speaking import conversation, does, kinds, last_event, marked, opens, said


def turn_of(world: CoreHarness, agent: AgentId, size: int) -> None:
    """A completed turn of so many tokens."""
    world.turn(agent, "p" * (size // 2), "r" * (size - size // 2))


def sizes(world: CoreHarness, agent: AgentId) -> list[int]:
    """Tokens of each live turn."""
    return [turn.size.tokens for turn in world.lives[agent].turns if turn.size]


def world_with(cap: int, low_water: float = 0.6) -> tuple[CoreHarness, AgentId]:
    """A world with one agent under this cap."""
    return conversation(settings=Settings(model="scripted", cap=cap, low_water=low_water))


def test_nothing_leaves_up_to_the_cap() -> None:
    world, agent = world_with(cap=100)
    for _ in range(4):
        turn_of(world, agent, 25)
    assert sizes(world, agent) == [25] * 4


def test_over_the_cap_the_oldest_turns_leave_down_to_the_low_water_mark() -> None:
    world, agent = world_with(cap=100)
    for size in (20, 20, 20, 20, 10, 20):
        turn_of(world, agent, size)
    assert sizes(world, agent) == [20, 10, 20]


def test_the_head_stays_between_two_moves_so_that_the_cached_prefix_does() -> None:
    world, agent = world_with(cap=100)
    for _ in range(12):
        turn_of(world, agent, 20)
    assert kinds(world, agent).count("context.trimmed") == 3


def test_a_low_water_mark_of_100_percent_is_the_plain_rule() -> None:
    world, agent = world_with(cap=100, low_water=1.0)
    for _ in range(7):
        turn_of(world, agent, 20)
    assert sizes(world, agent) == [20] * 5


def test_the_newest_turn_stays_however_large() -> None:
    world, agent = world_with(cap=100)
    turn_of(world, agent, 50)
    turn_of(world, agent, 1000)
    assert sizes(world, agent) == [1000]


def test_a_cap_of_zero_is_no_cap() -> None:
    world, agent = world_with(cap=0)
    for _ in range(5):
        turn_of(world, agent, 100_000)
    assert len(sizes(world, agent)) == 5


def test_the_default_cap_is_100_000_with_a_low_water_mark_of_60_percent() -> None:
    assert (Settings().cap, Settings().low_water) == (100_000, 0.6)


def test_a_smaller_cap_moves_the_window_at_once() -> None:
    world, agent = world_with(cap=1000)
    for _ in range(5):
        turn_of(world, agent, 20)
    does(world, Configure(agent, SettingsChange(cap=50, low_water=1.0)))
    assert sizes(world, agent) == [20, 20]


def test_a_smaller_cap_waits_for_the_end_of_an_open_turn() -> None:
    world, agent = world_with(cap=1000)
    for _ in range(5):
        turn_of(world, agent, 20)
    opens(world, agent, "p" * 20)
    does(world, Configure(agent, SettingsChange(cap=50, low_water=1.0)))
    assert len(sizes(world, agent)) == 5
    does(world, CompleteTurn(agent))
    assert sizes(world, agent) == [20, 20]


def test_a_larger_cap_brings_nothing_back() -> None:
    world, agent = world_with(cap=50)
    for _ in range(5):
        turn_of(world, agent, 20)
    left = sizes(world, agent)
    does(world, Configure(agent, SettingsChange(cap=1000)))
    assert sizes(world, agent) == left


def test_the_summary_stays() -> None:
    world, agent = world_with(cap=100)
    turn_of(world, agent, 20)
    does(world, Compact(agent, "Numbers."))
    for _ in range(6):
        turn_of(world, agent, 20)
    assert "Numbers." in said(world, agent)[0]


def test_marks_stay() -> None:
    world, agent = world_with(cap=50)
    does(world, SetMark(agent, "HERE"))
    for _ in range(5):
        turn_of(world, agent, 20)
    assert marked(world, agent) == ["HERE"]


@pytest.mark.parametrize("end", [CompleteTurn, InterruptTurn, FailTurn])
def test_the_window_moves_however_a_turn_ends(
    end: type[CompleteTurn] | type[InterruptTurn] | type[FailTurn],
) -> None:
    world, agent = world_with(cap=100)
    turn_of(world, agent, 80)
    opens(world, agent, "p" * 20)
    does(world, AddReply(agent, (Text("r" * 20),)))
    does(world, end(agent))
    assert sizes(world, agent) == [40]


def test_a_recorded_turn_moves_it_too() -> None:
    world, agent = world_with(cap=100)
    turn_of(world, agent, 80)
    does(world, RecordTurn(agent, (Text("p" * 20),), (RecordedReply((Text("r" * 20),)),)))
    assert sizes(world, agent) == [40]


def test_every_move_is_an_event_that_says_how_much_left() -> None:
    world, agent = world_with(cap=50)
    turn_of(world, agent, 30)
    turn_of(world, agent, 30)
    event = last_event(world, agent)
    assert isinstance(event, ContextTrimmed)
    assert (event.cause, event.turns, event.messages, event.tokens) == ("window", 1, 2, 30)


class Estimator:
    """Counts a third of the characters, so that sums and parts round differently."""

    name = "thirds"
    exact = False

    def count(self, text: str) -> Count:
        """One token for three characters."""
        return Count(len(text) // 3, exact=False)


def test_an_estimated_history_is_held_to_the_cap_as_the_meter_shows_it() -> None:
    world = CoreHarness(Estimator())
    agent = world.start(settings=Settings(model="scripted", cap=40, low_water=1.0))
    opens(world, agent, "teach")
    hash_ = digest(world.request(agent))
    does(world, CallModel(agent, "scripted", hash_, estimate=100))
    does(world, AddReply(agent, (Text("ok"),), usage=Usage(input=135)))
    does(world, CompleteTurn(agent))
    for number in range(40):
        turn_of(world, agent, 9 + number % 5)
        state, live = world.states[agent], world.lives[agent]
        assert history(live, world.counter, state.ratio()).tokens <= 40
