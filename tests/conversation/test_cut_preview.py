"""What a cut would cost, by the rules of the provider's cache."""

import time
from types import SimpleNamespace

import pytest

from sapwood.api import open
from sapwood.conversation.cut_preview import CutPlan, cut_plan

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
