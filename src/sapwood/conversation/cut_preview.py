"""What cutting the history before a turn would leave in view, and what it would cost.

A cut keeps the last turns and nothing else of the history: `/clear N`. The provider's cache serves
the fixed front of the request after it; the turns that stay are written to the cache once.
"""

from collections.abc import Callable

from msgspec import Struct

from sapwood.conversation.call import OpenSpace
from sapwood.core.budget import budget_of
from sapwood.core.command_table import TABLE
from sapwood.core.content import Text, Usage
from sapwood.core.history_size import calibrated, turn_sizes
from sapwood.core.ids import AgentId
from sapwood.core.token_count import ZERO, Count
from sapwood.models.model_facts import price_of

__all__ = ["Cut", "CutPlan", "cut_plan"]


class Cut(Struct, frozen=True):
    """The history with its last `keep` turns: the line to type, its size and its costs.

    Costs are in millionths of a dollar; None if the price is not known. `once` is the input of the
    next call, `later` that of each call after it.
    """

    keep: int
    line: str
    turn: int
    title: str
    size: Count
    total: Count
    once: int | None
    later: int | None


class CutPlan(Struct, frozen=True):
    """Every place at which the history can be cut, oldest first, and how things are now.

    `fixed` is what stays in every request. `now` is the cost of the next call as things are.
    `earlier` counts turns in view before which no cut is listed.
    """

    agent: AgentId
    fixed: Count
    total: Count
    now: int | None
    cuts: tuple[Cut, ...]
    cap: int = 0
    window: int = 0
    earlier: int = 0


async def cut_plan(
    space: OpenSpace, agent: AgentId, most: int = 100, *, priced: bool = True
) -> CutPlan:
    """The cuts of what is in view now, before each of the newest `most` turns.

    Without `priced`, only the next call has a price: prices take a millisecond each.
    """
    opened = await space.dispatcher.open(agent)
    state, live = opened.state, opened.live
    counter = space.counter_for(state.settings.model)
    budget = budget_of(state, live, counter)
    fixed = budget.system + budget.tools + budget.pins
    price = _priced(state.settings.model)
    sizes = [calibrated(raw, counter, state.ratio()) for raw in turn_sizes(live, counter)]
    kept = ZERO
    cuts: list[Cut] = []
    for number in range(len(sizes) - 1, -1, -1):
        kept = kept + sizes[number]
        if len(sizes) - number > most:
            continue
        total = fixed + kept
        turn = live.turns[number]
        keep = len(sizes) - number
        words = " ".join(part.text for part in turn.prompt if isinstance(part, Text))
        whole = number == 0
        cuts.append(
            Cut(
                keep,
                f"{TABLE['clear'].typed} {keep}",
                turn.first,
                " ".join(words[:200].split()) or "a wake-up",
                sizes[number],
                budget.total if whole else total,
                price(total.tokens, total.tokens if whole else fixed.tokens) if priced else None,
                price(total.tokens, total.tokens) if priced else None,
            )
        )
    total = budget.total.tokens
    return CutPlan(
        agent,
        fixed,
        budget.total,
        price(total, total),
        tuple(reversed(cuts)),
        state.settings.cap,
        state.settings.window,
        max(0, len(sizes) - most),
    )


def _priced(model: str) -> Callable[[int, int], int | None]:
    """The price of a request's input, by its size and by how much of it the cache holds."""

    def price(tokens: int, cached: int) -> int | None:
        used = Usage(input=tokens, cache_read=cached, cache_write=tokens - cached)
        found = price_of(model, used)
        return found.millionths if found else None

    return price
