"""What input costs under the rules of each provider's cache, simulated over 500 turns.

A provider bills a cached prefix far below fresh input, some bill what they write to the cache above
it, and each forgets it after a while. Prices are those of the catalogue, lifetimes those that the
providers document. Two rules of the product are measured.

The low-water mark: a window that clips at every turn changes the prefix at every turn, so all that
follows the system prompt is fresh again; one that clips down to 60 % of its cap does so once in
many turns. People who pause longer than the cache lives pay for all of it either way, so this is
measured without pauses.

The lifetime: Anthropic keeps a prefix for five minutes or, for a dearer write, for an hour. An
agent chooses by the last pauses between its turns. It may cost at most so much more than the better
of the two, for people with different pauses.
"""

import argparse
from collections.abc import Callable
from random import Random

from msgspec import Struct

from bench.kept_figures import figure
from sapwood.core.content import Usage
from sapwood.core.decide.trims import turns_to_leave
from sapwood.core.model_calls import LastCall, Lifetime
from sapwood.models.model_facts import cache_seconds, price_of

LIMIT = 1.9
MAX_DEARER = 1.10
CAP = 100_000
SYSTEM = 10_000
TURNS = 500
CALL_SECONDS = 20
MINUTE, HOUR = 60, 3_600
UNKNOWN = 5 * MINUTE
"""Taken for a provider that documents no lifetime."""


class Rules(Struct, frozen=True):
    """Prices of input in units of plain input, and the seconds that the cache lives."""

    vendor: str
    written: float
    read: float
    lifetime: int


def rules_of(vendor: str, model: str, lifetime: Lifetime = "5m") -> Rules:
    """The rules of a model, as the product knows them."""

    def price(used: Usage) -> float:
        found = price_of(model, used)
        assert found is not None, f"{model} is not in the catalogue"
        return float(found.amount)

    some = 10_000
    plain = price(Usage(some))
    written = price(Usage(some, cache_write=some, cache_hour=some if lifetime == "1h" else 0))
    seconds = cache_seconds(model, lifetime) or UNKNOWN
    return Rules(vendor, written / plain, price(Usage(some, cache_read=some)) / plain, seconds)


SHORT = rules_of("Anthropic", "claude-opus-5-5")
LONG = rules_of("Anthropic, 1 h", "claude-opus-5-5", "1h")
VENDORS = (
    SHORT,
    LONG,
    rules_of("OpenAI", "gpt-6-sol"),
    rules_of("OpenAI < 5.6", "gpt-5"),
    rules_of("Google", "gemini-3-pro-preview"),
)

Pauses = Callable[[Random], float]
"""Seconds between the end of a turn and the next prompt."""


def none(_: Random) -> float:
    return 0.0


def working(dice: Random) -> float:
    return dice.uniform(10, 4 * MINUTE)


def reading(dice: Random) -> float:
    """Somebody who reads and tries what the agent did: some pauses are longer."""
    return dice.uniform(6, 40) * MINUTE if dice.random() < 0.25 else working(dice)


def visiting(dice: Random) -> float:
    """Somebody who comes back after hours."""
    return dice.uniform(2, 12) * HOUR if dice.random() < 0.5 else working(dice)


def mixed(dice: Random) -> float:
    """All of that, in spells of a day's work."""
    return dice.choice((working, working, reading, visiting))(dice)


PEOPLE: dict[str, Pauses] = {
    "working": working,
    "reading": reading,
    "visiting": visiting,
    "mixed": mixed,
}


def simulate(
    low_water: float,
    calls: int,
    choose: Callable[[LastCall], Rules],
    pauses: Pauses = none,
    seed: int = 1,
) -> float:
    """The cost of all input of the conversation, in plain tokens."""
    dice, waits = Random(seed), Random(seed + 1)
    turns: list[int] = []
    cost = 0.0
    cached = 0  # tokens of the present prefix that the provider has seen
    clock, until = 0.0, 0.0
    last = LastCall()
    for turn in range(TURNS):
        clock += pauses(waits)
        turns.append(0)
        for call in range(calls):
            clock += CALL_SECONDS
            version = turn * (calls + 1) + call + 2
            last = last.followed(version, round(clock * 1e6), turn * (calls + 1) + 1)
            rules = choose(last)
            if clock > until:
                cached = 0
            turns[-1] += dice.randint(200, 6_000) // calls + 50
            sent = SYSTEM + sum(turns)
            cost += cached * rules.read + (sent - cached) * rules.written
            cached, until = sent, clock + rules.lifetime
        leaving = turns_to_leave(turns, CAP, low_water)
        if leaving:
            turns = turns[leaving:]
            cached = SYSTEM
    return cost


def by_pauses(last: LastCall) -> Rules:
    """The rules that an agent chooses."""
    return LONG if last.lifetime == "1h" else SHORT


def low_water() -> float:
    """Prints the first table; returns the smallest saving."""
    print(f"{TURNS} turns, cap {CAP:,}, system prompt {SYSTEM:,}: input cost in plain tokens")
    print(
        f"{'vendor':<15} {'write':>6} {'read':>6} {'lives':>7} {'calls a turn':>12} "
        f"{'every turn':>12} {'low water':>12} {'ratio':>6}"
    )
    worst = float("inf")
    for rules in VENDORS:
        for calls in (1, 3, 8):
            every = simulate(1.0, calls, lambda _, rules=rules: rules)
            low = simulate(0.6, calls, lambda _, rules=rules: rules)
            worst = min(worst, every / low)
            print(
                f"{rules.vendor:<15} {rules.written:>6.2f} {rules.read:>6.2f} "
                f"{rules.lifetime // MINUTE:>3} min {calls:>12} {every / 1e6:>11.1f}M "
                f"{low / 1e6:>11.1f}M {every / low:>5.1f}x"
            )
    return worst


def lifetimes() -> float:
    """Prints the second table; returns how much dearer the choice is at most."""
    print(
        f"\n{'pauses':<15} {'calls a turn':>12} {'5 min':>9} {'1 h':>9} {'chosen':>9} {'ratio':>6}"
    )
    worst = 0.0
    for name, pauses in PEOPLE.items():
        for calls in (1, 3, 8):
            short = simulate(0.6, calls, lambda _: SHORT, pauses)
            long = simulate(0.6, calls, lambda _: LONG, pauses)
            chosen = simulate(0.6, calls, by_pauses, pauses)
            worst = max(worst, chosen / min(short, long))
            print(
                f"{name:<15} {calls:>12} {short / 1e6:>8.1f}M {long / 1e6:>8.1f}M "
                f"{chosen / 1e6:>8.1f}M {chosen / min(short, long):>5.2f}x"
            )
    return worst


def main(argv: list[str]) -> int:
    """Prints both tables; returns 1 if one of the rules misses its limit."""
    parser = argparse.ArgumentParser(prog="python -m bench window", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="the same: it takes seconds")
    parser.parse_args(argv)
    saved, dearer = low_water(), lifetimes()
    figure("window: times cheaper", saved, "more")
    figure("window: times the better lifetime", dearer)
    print(f"window: at least {saved:.2f}x cheaper than clipping at every turn (limit {LIMIT}x)")
    print(f"lifetime: at most {dearer:.2f}x of the better one (limit {MAX_DEARER}x)")
    return 0 if saved >= LIMIT and dearer <= MAX_DEARER else 1
