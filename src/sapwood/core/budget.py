"""The budget: what fills the model's window, by block, and which edge comes first.

There are two edges: the model's window, for the whole request, and the cap, for the history.
"""

from typing import Literal

from msgspec import Struct, structs

from sapwood.core.history_size import calibrated, count_texts, history, raw_history
from sapwood.core.live_path import LivePath
from sapwood.core.state import State
from sapwood.core.token_count import ZERO, Count, Counter, show, show_tokens
from sapwood.core.view.build import front_texts

_NEAR = 0.5
"""The share of the window from which on it can be what a meter measures."""


class Budget(Struct, frozen=True):
    """Tokens by block. `summary` includes the carried request.

    `tools` is the size of the tool schemas of the last model call, 0 before the first. It is always
    an estimate, because each provider writes the schemas in its own way.

    `window` is 0 if it is unknown, `cap` is 0 if there is none. `level` is how many warning levels
    are reached at the edge that comes first, 0 to 3.

    >>> few, none = Count(200, exact=True), Count(0, exact=True)
    >>> history = Count(59_800, exact=False)
    >>> budget = Budget(few, none, none, none, history, window=100_000, level=1)
    >>> budget.total, budget.share
    (Count(tokens=60000, exact=False), 0.6)
    >>> capped = Budget(few, none, none, none, history, window=1_000_000, level=1, cap=100_000)
    >>> capped.edge, capped.share
    ('cap', 0.598)
    """

    system: Count
    tools: Count
    pins: Count
    summary: Count
    history: Count
    window: int
    level: int
    cap: int = 0

    @property
    def total(self) -> Count:
        """The sum of all blocks."""
        return self.system + self.tools + self.pins + self.summary + self.history

    @property
    def edge(self) -> Literal["window", "cap", ""]:
        """The edge that a meter measures; empty if there is neither a known window nor a cap.

        It is the smaller one, so that the unit of a meter stays. The window takes the place of the
        cap where it comes first and is half full.
        """
        if not self.cap or 0 < self.window < self.cap:
            return "window" if self.window else ""
        if not self.window:
            return "cap"
        by_cap, by_window = self.history.tokens / self.cap, self.total.tokens / self.window
        return "window" if by_window >= max(by_cap, _NEAR) else "cap"

    @property
    def limit(self) -> int:
        """Tokens at that edge; 0 if there is none."""
        return self.cap if self.edge == "cap" else self.window

    @property
    def used(self) -> Count:
        """What counts against that edge: the history against the cap, else everything."""
        return self.history if self.edge == "cap" else self.total

    @property
    def share(self) -> float | None:
        """The filled share up to that edge; None if there is no edge."""
        return self.used.tokens / self.limit if self.limit else None


def overflow_text(budget: Budget, back: str) -> str:
    """Says that the view is larger than the window or the cap, and what to do; '' if it fits.

    `back` is the command that takes the change back.

    >>> none, half = Count(0, exact=True), Count(60_000, exact=False)
    >>> print(overflow_text(Budget(half, none, none, none, half, window=100_000, level=3), "/redo"))
    The view has ~120k tokens now, and the model's window only 100k: it would refuse the next \
prompt. To make room, type /drop TURNS or /redo.
    >>> print(overflow_text(Budget(none, none, none, none, half, 0, level=3, cap=50_000), "/redo"))
    The history in view has ~60k tokens now, and the cap is 50k: when the next turn ends, the \
oldest turns leave view. To keep them, type /config cap 90k. To choose what leaves, type /drop \
TURNS or /compact.
    >>> overflow_text(Budget(none, none, none, none, half, 0, level=3, cap=60_000), "/redo")
    ''
    """
    if 0 < budget.window < budget.total.tokens:
        return (
            f"The view has {show_tokens(budget.total)} now, and the model's window only "
            f"{show(Count(budget.window, exact=True))}: it would refuse the next prompt. To make "
            f"room, type /drop TURNS or {back}."
        )
    if 0 < budget.cap < budget.history.tokens:
        larger = -(-budget.history.tokens * 3 // 2_000)
        return (
            f"The history in view has {show_tokens(budget.history)} now, and the cap is "
            f"{show(Count(budget.cap, exact=True))}: when the next turn ends, the oldest turns "
            f"leave view. To keep them, type /config cap {larger}k. To choose what leaves, type "
            "/drop TURNS or /compact."
        )
    return ""


def budget_of(state: State, live: LivePath, counter: Counter, model: str = "") -> Budget:
    """The budget now, counted for the agent's own model or for another one."""
    ratio = state.ratio(model)

    def count(*texts: str) -> Count:
        return calibrated(count_texts(texts, counter), counter, ratio)

    budget = Budget(
        system=count(*system_texts(state)),
        tools=_estimate(calibrated(state.tool_schema_tokens, counter, ratio)),
        pins=count(*(pin.text for pin in state.pins)),
        summary=count(*(part.text for part in front_texts(live))),
        history=history(live, counter, ratio),
        window=state.settings.window,
        level=0,
        cap=state.settings.cap,
    )
    by_window = budget.total.tokens / budget.window if budget.window else 0.0
    share = max(budget.share or 0.0, by_window)
    passed = sum(share >= level for level in state.settings.levels)
    return structs.replace(budget, level=passed)


def system_texts(state: State) -> tuple[str, ...]:
    """The instructions that were read, and the user's own system prompt."""
    return (*(each.text for each in state.instructions), state.settings.system)


def _estimate(count: Count) -> Count:
    return Count(count.tokens, exact=False) if count.tokens else ZERO


def estimate_of(state: State, live: LivePath, counter: Counter) -> int:
    """Raw tokens of the request that the view builds now, without tools.

    Uses the stored sizes of ended turns.
    """
    front = [*system_texts(state), *(pin.text for pin in state.pins)]
    front += [part.text for part in front_texts(live)]
    return count_texts(front, counter) + raw_history(live, counter)
