"""What a cut would cost, by the rules of the provider's cache."""

import time
from types import SimpleNamespace

import pytest

from sapwood.api import open
from sapwood.conversation.cut_preview import CutPlan, cost_of_return, cut_plan, return_cost

WORDS = "timber " * 2_000


class Clock:
    """A clock that can be set forward, by seconds."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.slept = 0
        fake = SimpleNamespace(time_ns=lambda: time.time_ns() + self.slept * 10**9)
        monkeypatch.setattr("sapwood.turns.clock_and_ids.time", fake)


async def plans(clock: Clock, model: str, *pauses: int) -> list[CutPlan]:
    """The plans after each pause. A turn is run before each."""
    found: list[CutPlan] = []
    async with open(":memory:") as db:
        agent = await db.start(model=model)
        for pause in pauses:
            async with agent.turn(WORDS) as turn:
                await turn.call()
                await turn.reply(WORDS)
            clock.slept += pause
            found.append(await cut_plan(db.connection, agent.id))
    return found


@pytest.mark.parametrize(
    ("model", "warm", "cold"),
    [
        ("claude-opus-5-5", 4 * 60, 6 * 60),
        ("gpt-6-sol", 29 * 60, 31 * 60),
    ],
)
async def test_a_call_costs_more_when_the_cache_has_ended(
    monkeypatch: pytest.MonkeyPatch, model: str, warm: int, cold: int
) -> None:
    (soon,) = await plans(Clock(monkeypatch), model, warm)
    (late,) = await plans(Clock(monkeypatch), model, cold)
    assert (soon.is_cold, late.is_cold) == (False, True)
    assert soon.now is not None
    assert late.now is not None
    assert late.now > 10 * soon.now
    assert late.cuts[-1].once == late.now
    assert late.cuts[-1].later == soon.cuts[-1].later


async def test_an_hour_in_the_cache_is_written_at_its_own_price(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first, second, third = await plans(Clock(monkeypatch), "claude-opus-5-5", 700, 700, 9_000)
    assert [each.is_cold for each in (first, second, third)] == [True, False, True]
    assert first.now is not None
    assert third.now is not None
    assert third.now > 3 * first.now * 1.5  # three times as long, at 2.00 instead of 1.25


async def test_a_provider_without_a_documented_lifetime_is_never_cold(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (plan,) = await plans(Clock(monkeypatch), "gemini-3-pro-preview", 9_000)
    assert not plan.is_cold


async def test_after_a_pause_it_says_what_coming_back_costs_and_how_to_trim(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    warm, cold = await plans(Clock(monkeypatch), "claude-opus-5-5", 60, 9_000)
    assert warm.back is None
    assert cold.back is None  # too small to be worth a word
    found = return_cost("claude-opus-5-5", "5m", 214_000, [*[20_000] * 9, 10_000, 5_000])
    assert found is not None
    assert (found.keep, found.kept_tokens) == (2, 34_000)
    assert found.cost is not None
    assert found.kept_cost is not None
    assert 6 < found.cost / found.kept_cost < 7
    assert found.sentence("/{}").startswith("214k tokens are cold: about $")
    assert found.sentence("/sapwood:{}").endswith("To trim, type: /sapwood:clear 2")


def test_without_a_useful_trim_none_is_offered() -> None:
    found = return_cost("claude-opus-5-5", "1h", 60_000, [50_000])
    assert found is not None
    assert found.keep == 0
    assert "trim" not in found.sentence("/{}")
    unpriced = return_cost("a-model-nobody-knows", "5m", 60_000, [30_000, 20_000, 5_000])
    assert unpriced is not None
    assert "$" not in unpriced.sentence("/{}")


async def test_only_a_cold_conversation_has_a_cost_of_return(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Clock(monkeypatch)
    async with open(":memory:") as db:
        agent = await db.start(model="claude-opus-5-5")
        for _ in range(4):
            async with agent.turn(WORDS * 4) as turn:
                await turn.call()
                await turn.reply(WORDS)
        assert await cost_of_return(db.connection, agent.id) is None
        clock.slept += 9_000
        cost = await cost_of_return(db.connection, agent.id)
    assert cost is not None
    assert cost.cost is not None
