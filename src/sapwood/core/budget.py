"""Budgets: what fills the model's window, block by block, and how near its edge that is."""

from msgspec import Struct, structs

from sapwood.core.counting import ZERO, Count, Counter
from sapwood.core.live import Live
from sapwood.core.measure import calibrated, count_texts, history, raw_history
from sapwood.core.state import State
from sapwood.core.view.build import front_texts

__all__ = ["Budget", "budget_of", "estimate_of"]


class Budget(Struct, frozen=True):
    """Tokens by block. `summary` holds the summary and the carried request.

    `tools` are the schemas that go out with every request, as the last call had them: 0 before the
    first. Always an estimate, because each provider writes them into the window in its own way.

    `level` is how many of the warning levels are passed: 0 (none) to 3. Without a known window
    nothing can be said of it, and it is 0.

    >>> few, none = Count(200, exact=True), Count(0, exact=True)
    >>> history = Count(59_800, exact=False)
    >>> budget = Budget(few, none, none, none, history, window=100_000, level=1)
    >>> budget.total, budget.share
    (Count(tokens=60000, exact=False), 0.6)
    """

    system: Count
    tools: Count
    pins: Count
    summary: Count
    history: Count
    window: int
    level: int

    @property
    def total(self) -> Count:
        """Everything that is sent."""
        return self.system + self.tools + self.pins + self.summary + self.history

    @property
    def share(self) -> float | None:
        """The filled share of the window, where it is known."""
        return self.total.tokens / self.window if self.window else None


def budget_of(state: State, live: Live, counter: Counter, model: str = "") -> Budget:
    """What fills the window now, as the agent's own model or another one counts."""
    ratio = state.ratio(model)

    def count(*texts: str) -> Count:
        return calibrated(count_texts(texts, counter), counter, ratio)

    budget = Budget(
        system=count(state.settings.system),
        tools=_estimate(calibrated(state.offered, counter, ratio)),
        pins=count(*(pin.text for pin in state.pins)),
        summary=count(*(part.text for part in front_texts(live))),
        history=history(live, counter, ratio),
        window=state.settings.window,
        level=0,
    )
    share = budget.share or 0.0
    passed = sum(share >= level for level in state.settings.levels)
    return structs.replace(budget, level=passed)


def _estimate(count: Count) -> Count:
    return Count(count.tokens, exact=False) if count.tokens else ZERO


def estimate_of(state: State, live: Live, counter: Counter) -> int:
    """Raw tokens of the request that the view builds now, without tools.

    Ended turns are not counted again.
    """
    front = [state.settings.system, *(pin.text for pin in state.pins)]
    front += [part.text for part in front_texts(live)]
    return count_texts(front, counter) + raw_history(live, counter)
