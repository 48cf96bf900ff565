"""The budget: what fills the model's window, by block, and how full the window is."""

from msgspec import Struct, structs

from sapwood.core.history_size import calibrated, count_texts, history, raw_history
from sapwood.core.live_path import LivePath
from sapwood.core.state import State
from sapwood.core.token_count import ZERO, Count, Counter
from sapwood.core.view.build import front_texts

__all__ = ["Budget", "budget_of", "estimate_of"]


class Budget(Struct, frozen=True):
    """Tokens by block. `summary` includes the carried request.

    `tools` is the size of the tool schemas of the last model call, 0 before the first. It is always
    an estimate, because each provider writes the schemas in its own way.

    `level` is how many warning levels are reached, 0 to 3. It is 0 if the window is unknown.

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
        """The sum of all blocks."""
        return self.system + self.tools + self.pins + self.summary + self.history

    @property
    def share(self) -> float | None:
        """The filled share of the window; None if the window is unknown."""
        return self.total.tokens / self.window if self.window else None


def budget_of(state: State, live: LivePath, counter: Counter, model: str = "") -> Budget:
    """The budget now, counted for the agent's own model or for another one."""
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


def estimate_of(state: State, live: LivePath, counter: Counter) -> int:
    """Raw tokens of the request that the view builds now, without tools.

    Uses the stored sizes of ended turns.
    """
    front = [state.settings.system, *(pin.text for pin in state.pins)]
    front += [part.text for part in front_texts(live)]
    return count_texts(front, counter) + raw_history(live, counter)
