"""The time from a closed database to a finished request: a million events and a thousand.

Both agents have a live window of about 100,000 tokens. They are opened alternately, each time with
a new connection; the ratio of the medians counts.
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

LIMIT = 1.5
SMALL = AgentId("young")
LARGE = AgentId("old")


class Opening(Struct):
    """Times of one database, in milliseconds."""

    small: list[float]
    large: list[float]

    @property
    def ratio(self) -> float:
        return statistics.median(self.large) / statistics.median(self.small)


async def build(address: str, space: str, events: int) -> None:
    """Creates two agents: one with a short log, one with a long log."""
    connection = await connect(address, space)
    counter = counter_for("claude-sonnet")
    started = time.monotonic()
    await grow(connection.log, connection.space, start(SMALL), 1_000, counter)
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


async def measure(address: str, events: int, rounds: int) -> Opening:
    """Opens both alternately."""
    space = f"bench-{time.time_ns()}"
    await build(address, space, events)
    async with sapwood.open(address, space=space) as db:
        for name in (SMALL, LARGE):
            agent = await db.find(name)
            budget = await agent.budget()
            version = (await agent.state()).version
            print(f"  {name}: {version:,} events, live history {show(budget.history)} of {CAP:,}")
    opening = Opening([], [])
    for _ in range(rounds):
        opening.small.append(await open_once(address, space, SMALL))
        opening.large.append(await open_once(address, space, LARGE))
    return opening


def main(argv: list[str]) -> int:
    """Prints both times; returns 1 if the long log costs too much."""
    parser = argparse.ArgumentParser(prog="python -m bench open", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="30,000 events")
    options = parser.parse_args(argv)
    events, rounds = (30_000, 15) if options.quick else (1_000_000, 31)
    limit = LIMIT * QUICK_SLACK if options.quick else LIMIT
    ratios: dict[str, float] = {}
    with tempfile.TemporaryDirectory(prefix="sapwood-") as folder:
        places: tuple[tuple[str, Callable[[], AbstractContextManager[str]]], ...] = (
            ("SQLite", lambda: nullcontext(str(Path(folder) / "long.db"))),
            ("PostgreSQL", dsn_or_throwaway),
        )
        for name, place in places:
            print(f"{name}: an agent of {events:,} events and one of 1,000", flush=True)
            with place() as address:
                opening = asyncio.run(measure(address, events, rounds))
            ratios[name] = opening.ratio
            figure(f"open: {name}", opening.ratio)
            print(
                f"  open to request, median of {rounds}: {statistics.median(opening.small):.1f} ms "
                f"and {statistics.median(opening.large):.1f} ms, {opening.ratio:.2f}x"
            )
    figures = ", ".join(f"{name} {ratio:.2f}x" for name, ratio in ratios.items())
    print(f"open: {events:,} events against 1,000: {figures} (limit {limit:.2f}x)")
    return 0 if max(ratios.values()) <= limit else 1
