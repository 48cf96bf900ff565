"""The saving by the low-water mark of the window: simulated input cost over 500 turns.

Providers bill a cached prefix far below fresh input. A window that clips at every turn changes
the prefix at every turn, so everything after the system prompt is fresh again; one that clips down
to 60 % of its cap does so once in many turns. Both use the rule that the product uses.
"""

import argparse
from random import Random

from msgspec import Struct

from bench.kept_figures import figure
from sapwood.core.decide.trims import turns_to_leave

LIMIT = 1.9
CAP = 100_000
SYSTEM = 10_000
TURNS = 500


class Prices(Struct, frozen=True):
    """The price of a cached and of a fresh token, in units of plain input."""

    vendor: str
    fresh: float
    cached: float


# Published prices of prompt caching. Anthropic bills what it writes into the cache at 1.25.
PRICES = (
    Prices("Anthropic", fresh=1.25, cached=0.10),
    Prices("OpenAI", fresh=1.00, cached=0.10),
    Prices("Google", fresh=1.00, cached=0.10),
)


def simulate(low_water: float, calls: int, prices: Prices, seed: int = 1) -> float:
    """The cost of all input of the conversation, in plain tokens."""
    random = Random(seed)
    turns: list[int] = []
    cost = 0.0
    cached = 0  # tokens of the present prefix that the provider has seen
    for _ in range(TURNS):
        turns.append(0)
        for _ in range(calls):
            turns[-1] += random.randint(200, 6_000) // calls + 50
            sent = SYSTEM + sum(turns)
            cost += cached * prices.cached + (sent - cached) * prices.fresh
            cached = sent
        leaving = turns_to_leave(turns, CAP, low_water)
        if leaving:
            turns = turns[leaving:]
            cached = SYSTEM
    return cost


def main(argv: list[str]) -> int:
    """Prints the table; returns 1 if the low-water rule saves less than its limit anywhere."""
    parser = argparse.ArgumentParser(prog="python -m bench window", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="the same: it takes a second")
    parser.parse_args(argv)
    print(f"{TURNS} turns, cap {CAP:,}, system prompt {SYSTEM:,}: input cost in plain tokens")
    print(f"{'vendor':<10} {'calls a turn':>12} {'every turn':>12} {'low water':>15} {'ratio':>6}")
    worst = float("inf")
    for prices in PRICES:
        for calls in (1, 3, 8):
            every = simulate(1.0, calls, prices)
            low = simulate(0.6, calls, prices)
            worst = min(worst, every / low)
            print(
                f"{prices.vendor:<10} {calls:>12} {every / 1e6:>11.1f}M {low / 1e6:>14.1f}M "
                f"{every / low:>5.1f}x"
            )
    figure("window: times cheaper", worst, "more")
    print(f"window: at least {worst:.2f}x cheaper than clipping at every turn (limit {LIMIT}x)")
    return 0 if worst >= LIMIT else 1
