"""Budgets: what fills the model's window, and how near its edge that is."""

import pytest

from sapwood.core.budget import budget_of, estimate_of
from sapwood.core.commands import (
    AddPin,
    AddReply,
    CallModel,
    Clear,
    Compact,
    CompleteTurn,
    Configure,
    Fork,
    StartTurn,
)
from sapwood.core.content import Text
from sapwood.core.history_size import count_texts
from sapwood.core.ids import AgentId
from sapwood.core.settings import Settings, SettingsChange
from sapwood.core.token_count import Count
from sapwood.core.view import view
from sapwood.core.view.request import digest
from sapwood.testing import CoreHarness
from tests.core.speaking import conversation, does


def exactly(tokens: int) -> Count:
    """An exact count."""
    return Count(tokens, exact=True)


def test_every_block_is_counted_apart() -> None:
    world, agent = conversation(2, Settings("scripted", system="s" * 10, window=1_000))
    does(world, AddPin(agent, "rule", "p" * 20))
    does(world, Compact(agent, "Numbers.", keep=1))
    budget = budget_of(world.states[agent], world.lives[agent], world.counter)
    assert (budget.system, budget.pins, budget.history) == (exactly(10), exactly(20), exactly(13))
    front = "[Summary of the conversation before this point]\nNumbers."
    assert budget.summary == exactly(len(front))
    assert budget.total == exactly(43 + len(front))
    assert budget.share == (43 + len(front)) / 1_000


def test_tools_are_a_block_of_their_own_from_the_first_call_on() -> None:
    world, agent = conversation(1, Settings("scripted", window=1_000))
    before = budget_of(world.states[agent], world.lives[agent], world.counter)
    assert before.tools == exactly(0)
    calls(world, agent, offered=600)
    budget = budget_of(world.states[agent], world.lives[agent], world.counter)
    assert budget.tools == Count(600, exact=False)
    assert budget.total == before.total + Count(600, exact=False) + exactly(len("And then?"))
    assert budget.level == 1


def test_tools_are_as_the_last_call_had_them_and_a_child_has_those_of_its_parent() -> None:
    world, agent = conversation()
    calls(world, agent, offered=600)
    does(world, Fork(agent, AgentId("child")))
    does(world, AddReply(agent, (Text("Now."),)))
    does(world, CompleteTurn(agent))
    calls(world, agent, offered=0)
    sizes = [
        budget_of(world.states[who], world.lives[who], world.counter).tools.tokens
        for who in (agent, AgentId("child"))
    ]
    assert sizes == [0, 600]


def calls(world: CoreHarness, agent: AgentId, offered: int) -> None:
    """A model is called in a new turn, with tools of this size."""
    does(world, StartTurn(agent, (Text("And then?"),)))
    request = view(world.states[agent], world.lives[agent])
    does(world, CallModel(agent, request.model, digest(request), offered=offered))


@pytest.mark.parametrize(
    ("tokens", "level"),
    [(0, 0), (499, 0), (500, 1), (649, 1), (650, 2), (849, 2), (850, 3), (2000, 3)],
)
def test_warnings_are_due_at_50_65_and_85_percent(tokens: int, level: int) -> None:
    world, agent = conversation(settings=Settings("scripted", system="x" * tokens, window=1_000))
    assert budget_of(world.states[agent], world.lives[agent], world.counter).level == level


def test_levels_can_be_set() -> None:
    world, agent = conversation(settings=Settings("scripted", system="x" * 100, window=1_000))
    does(world, Configure(agent, SettingsChange(levels=(0.05, 0.1, 0.9))))
    assert budget_of(world.states[agent], world.lives[agent], world.counter).level == 2


def test_without_a_known_window_there_is_no_share_and_no_warning() -> None:
    world, agent = conversation(settings=Settings("scripted", system="x" * 10**6, cap=0))
    budget = budget_of(world.states[agent], world.lives[agent], world.counter)
    assert (budget.share, budget.level) == (None, 0)


class Guess:
    """A counter that is never sure."""

    name = "guess"
    exact = False

    def count(self, text: str) -> Count:
        """One token a character, perhaps."""
        return Count(len(text), exact=False)


def test_a_total_is_estimated_if_any_part_is() -> None:
    world = CoreHarness(Guess())
    agent = world.start()
    world.turn(agent, "ask", "answer")
    budget = budget_of(world.states[agent], world.lives[agent], world.counter)
    assert budget.total == Count(9, exact=False)


def test_the_estimate_is_what_counting_the_request_would_give() -> None:
    world, agent = conversation(3, Settings("scripted", system="s" * 10))
    does(world, AddPin(agent, "rule", "p" * 20))
    does(world, Compact(agent, "Numbers.", keep=1))
    does(world, StartTurn(agent, (Text("And then?"),)))
    state, live = world.states[agent], world.lives[agent]
    counted = count_texts(view(state, live).texts(), world.counter)
    assert estimate_of(state, live, world.counter) == counted


@pytest.mark.parametrize(
    ("history", "level"), [(49_000, 0), (50_000, 1), (66_000, 2), (85_000, 3), (99_000, 3)]
)
def test_warnings_look_at_the_cap_if_it_comes_before_the_window(history: int, level: int) -> None:
    world = CoreHarness()
    agent = world.start(settings=Settings("scripted", cap=100_000, window=1_000_000))
    world.turn(agent, "?", "h" * (history - 1))
    budget = budget_of(world.states[agent], world.lives[agent], world.counter)
    assert (budget.edge, budget.share, budget.level) == ("cap", history / 100_000, level)


def test_warnings_look_at_the_window_if_it_comes_before_the_cap() -> None:
    world = CoreHarness()
    settings = Settings("scripted", "s" * 500, cap=100_000, window=1_000)
    agent = world.start(settings=settings)
    world.turn(agent, "?", "h" * 199)
    budget = budget_of(world.states[agent], world.lives[agent], world.counter)
    assert (budget.edge, budget.share, budget.level) == ("window", 0.7, 2)


def test_the_unit_of_the_meter_stays_when_the_history_leaves() -> None:
    settings = Settings("scripted", system="s" * 600, window=1_000_000, cap=100_000)
    world, agent = conversation(2, settings)
    assert budget_of(world.states[agent], world.lives[agent], world.counter).edge == "cap"
    does(world, Clear(agent))
    budget = budget_of(world.states[agent], world.lives[agent], world.counter)
    assert (budget.edge, budget.share, budget.level) == ("cap", 0.0, 0)


def test_without_a_window_and_without_a_cap_there_is_no_edge() -> None:
    world, agent = conversation(1, Settings("scripted", cap=0))
    budget = budget_of(world.states[agent], world.lives[agent], world.counter)
    assert (budget.edge, budget.share, budget.level) == ("", None, 0)
