"""The time from a closed database to a finished request: a million events and a thousand.

Both agents have a live window of about 100,000 tokens. They are opened alternately, each time with
a new connection; the ratio of the medians counts. A third one has dropped 10,000 turns, one by one.
"""

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from msgspec import Struct

import sapwood
from bench import QUICK_SLACK
from bench.kept_figures import figure
from bench.long_history import CAP, grow, start
from sapwood.app.connection import connect
from sapwood.core.ids import AgentId
from sapwood.core.token_count import show
from sapwood.tokens.counters import counter_for
from tools.postgres import dsn_or_throwaway

LIMIT, CUT_LIMIT = 1.5, 1.2
SMALL = AgentId("young")
LARGE = AgentId("old")
CUT = AgentId("cut")
_EVENTS_A_CUT = 18
"""Two turns of eight events, a move of the window, and the drop of one of the turns."""


class Opening(Struct):
    """Times of one database, in milliseconds."""

    small: list[float]
    large: list[float]
    cut: list[float]

    @property
    def ratio(self) -> float:
        return statistics.median(self.large) / statistics.median(self.small)

    @property
    def cut_ratio(self) -> float:
        return statistics.median(self.cut) / statistics.median(self.small)


async def build(address: str, space: str, events: int, cuts: int) -> None:
    """Creates three agents: with a short log, with a long log, and with many cuts."""
    connection = await connect(address, space)
    counter = counter_for("claude-sonnet")
    started = time.monotonic()
    await grow(connection.log, connection.space, start(SMALL), 1_000, counter)
    cut, made = start(CUT), cuts * _EVENTS_A_CUT
    cut = await grow(connection.log, connection.space, cut, made, counter, drops=True)
    print(f"  {cut.state.turns // 2:,} drops in {time.monotonic() - started:.0f} s")
    await grow(connection.log, connection.space, cut, made + 1_000, counter)
    grown = start(LARGE)
    for share in range(1, 11):
        goal = events * share // 10
        grown = await grow(connection.log, connection.space, grown, goal, counter)
        elapsed = time.monotonic() - started
        print(f"\r  {grown.state.version:,} events in {elapsed:.0f} s", end="", file=sys.stderr)
    print(file=sys.stderr)
    await connection.close()


async def open_once(address: str, space: str, agent: AgentId) -> float:
    """Milliseconds from a closed database to a finished request."""
    started = time.perf_counter()
    async with sapwood.open(address, space=space) as db:
        request = await (await db.find(agent)).request()
        elapsed = time.perf_counter() - started
    if len(request.messages) < 100:
        raise RuntimeError("the request is not whole")
    return elapsed * 1000


async def measure(address: str, events: int, cuts: int, rounds: int) -> Opening:
    """Opens all of them in turn."""
    space = f"bench-{time.time_ns()}"
    await build(address, space, events, cuts)
    async with sapwood.open(address, space=space) as db:
        for name in (SMALL, LARGE, CUT):
            agent = await db.find(name)
            budget = await agent.budget()
            version = (await agent.state()).version
            print(f"  {name}: {version:,} events, live history {show(budget.history)} of {CAP:,}")
    opening = Opening([], [], [])
    for _ in range(rounds):
        opening.small.append(await open_once(address, space, SMALL))
        opening.large.append(await open_once(address, space, LARGE))
        opening.cut.append(await open_once(address, space, CUT))
    return opening


def main(argv: list[str]) -> int:
    """Prints both times; returns 1 if the long log costs too much."""
    parser = argparse.ArgumentParser(prog="python -m bench open", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="30,000 events")
    options = parser.parse_args(argv)
    events, cuts, rounds = (30_000, 1_000, 15) if options.quick else (1_000_000, 10_000, 31)
    slack = QUICK_SLACK if options.quick else 1.0
    limit, cut_limit = LIMIT * slack, CUT_LIMIT * slack
    ratios: dict[str, float] = {}
    cut_ratios: dict[str, float] = {}
    with tempfile.TemporaryDirectory(prefix="sapwood-") as folder:
        places: tuple[tuple[str, Callable[[], AbstractContextManager[str]]], ...] = (
            ("SQLite", lambda: nullcontext(str(Path(folder) / "long.db"))),
            ("PostgreSQL", dsn_or_throwaway),
        )
        for name, place in places:
            print(f"{name}: an agent of {events:,} events and one of 1,000", flush=True)
            with place() as address:
                opening = asyncio.run(measure(address, events, cuts, rounds))
            ratios[name] = opening.ratio
            cut_ratios[name] = opening.cut_ratio
            for kind, ratio in (("open", opening.ratio), ("open with cuts", opening.cut_ratio)):
                figure(f"{kind}: {name}", max(1.0, ratio))  # less is chance: it does no less work
            print(
                f"  open to request, median of {rounds}: {statistics.median(opening.small):.1f} ms "
                f"and {statistics.median(opening.large):.1f} ms, {opening.ratio:.2f}x; "
                f"with {cuts:,} cuts {statistics.median(opening.cut):.1f} ms, "
                f"{opening.cut_ratio:.2f}x"
            )
    cut_figures = ", ".join(f"{name} {ratio:.2f}x" for name, ratio in cut_ratios.items())
    print(f"open: {cuts:,} cuts against none: {cut_figures} (limit {cut_limit:.2f}x)")
    figures = ", ".join(f"{name} {ratio:.2f}x" for name, ratio in ratios.items())
    print(f"open: {events:,} events against 1,000: {figures} (limit {limit:.2f}x)")
    fits = max(ratios.values()) <= limit and max(cut_ratios.values()) <= cut_limit
    return 0 if fits else 1
