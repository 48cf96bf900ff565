"""Many agents in one space of PostgreSQL: list by owner, open, append, first search, tail.

The agents are written by COPY, in steps; at each size the same things are timed. Each time of the
larger size may be at most 1.5 times that of the smaller. `first search` is the search right after
the COPY by another program, in a process that has just opened the database.
"""

import argparse
import asyncio
import itertools
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable

from msgspec import Struct

import sapwood
from bench.database import own_database
from bench.scale_rows import SPACE, agent_of, copy_agents, owner_of
from tools.postgres import dsn_or_throwaway

LIMIT = 1.5
SIZES = (10_000, 100_000, 1_000_000)
QUICK = (500, 2_000)
_ROUNDS = 41
_BYTES_EACH = 6_000
"""What an agent takes on the disk, with its indexes and the log of the server."""
_FLOOR = 2.0
"""Milliseconds below which a difference is that of the machine."""


class Figures(Struct):
    """The times at one size, in milliseconds."""

    agents: int
    loaded: float
    times: dict[str, float]


async def _timed(work: Callable[[int], Awaitable[object]]) -> float:
    """The median time of several rounds."""
    taken: list[float] = []
    for number in range(_ROUNDS):
        started = time.perf_counter()
        await work(number)
        taken.append((time.perf_counter() - started) * 1_000)
    return statistics.median(taken)


async def measure(dsn: str, first: int, size: int) -> Figures:
    """Adds agents up to this size, and times everything."""
    started = time.monotonic()
    await copy_agents(dsn, first, size - 1)
    loaded = time.monotonic() - started
    times: dict[str, float] = {}
    async with sapwood.open(dsn, space=SPACE) as db:
        began = time.perf_counter()
        hits = await db.search(f"number{size - 1}")
        times["first search"] = (time.perf_counter() - began) * 1_000
        if [hit.ref.agent for hit in hits[:1]] != [agent_of(size - 1)]:
            raise RuntimeError(f"the newest agent was not found: {hits}")

        async def listed(number: int) -> None:
            where = sapwood.Where(owner=owner_of(size // 2 + number * 10))
            found = await db.agents(where=where, order="updated")
            if len(found) != 10:
                raise RuntimeError(f"an owner has {len(found)} agents")

        async def opened(number: int) -> None:
            agent = await db.get(agent_of(size // 3 + number))
            if len((await agent.request()).messages) != 4:
                raise RuntimeError("the request is not whole")

        async def appended(number: int) -> None:
            await (await db.get(agent_of(size // 4 + number))).record("Thanks.", "Bye.")

        async def tailed(number: int) -> None:
            agent = await db.get(agent_of(size // 5 + number))
            seen = asyncio.create_task(_next(agent, (await agent.state()).version))
            await asyncio.sleep(0)
            await agent.record("Still there?", "Yes.")
            await asyncio.wait_for(seen, 30)

        times["list by owner"] = await _timed(listed)
        times["open"] = await _timed(opened)
        times["append"] = await _timed(appended)
        times["follow"] = await _timed(tailed)
    return Figures(size, loaded, times)


async def _next(agent: sapwood.Agent, after: int) -> None:
    async for _ in agent.follow(after):
        return


async def run(dsn: str, sizes: tuple[int, ...], seconds: float) -> tuple[list[Figures], str]:
    """Measures the sizes that disk and time allow; also says why it stopped."""
    async with sapwood.open(dsn, space=SPACE):
        pass  # creates the tables
    found: list[Figures] = []
    began = time.monotonic()
    for size in sizes:
        free = shutil.disk_usage(tempfile.gettempdir()).free
        if free < 2 * size * _BYTES_EACH:
            return found, f"stopped before {size:,}: {free / 1e9:.0f} GB are free on the disk"
        before = found[-1] if found else None
        expected = before.loaded * size / before.agents if before else 0.0
        if time.monotonic() - began + expected > seconds:
            return found, f"stopped before {size:,}: it would take longer than {seconds:.0f} s"
        figures = await measure(dsn, before.agents if before else 0, size)
        found.append(figures)
        shown = ", ".join(f"{name} {took:.1f} ms" for name, took in figures.times.items())
        print(f"  {size:>9,} agents (loaded in {figures.loaded:.0f} s): {shown}", flush=True)
    return found, ""


def main(argv: list[str]) -> int:
    """Prints the figures; returns 1 if a time grew too much."""
    parser = argparse.ArgumentParser(prog="python -m bench scale", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two small sizes")
    parser.add_argument("--sizes", type=int, nargs="+", help="numbers of agents")
    parser.add_argument("--minutes", type=float, default=30.0, help="the time limit")
    options = parser.parse_args(argv)
    sizes = tuple(options.sizes or (QUICK if options.quick else SIZES))
    with dsn_or_throwaway() as server, own_database(server) as dsn:
        found, why = asyncio.run(run(dsn, sizes, options.minutes * 60))
    missed = 0
    for smaller, larger in itertools.pairwise(found):
        for name, before in smaller.times.items():
            after = larger.times[name]
            grew = max(after, _FLOOR) / max(before, _FLOOR)
            if grew > LIMIT:
                missed += 1
                print(f"  {name}: {before:.1f} ms became {after:.1f} ms", file=sys.stderr)
    if why:
        print(f"  {why}")
    largest = found[-1].agents if found else 0
    words = "every time at most" if not missed else f"{missed} times more than"
    print(
        f"scale: {largest:,} agents in one space, {words} {LIMIT:g} times that of the smaller size "
        f"(load {os.getloadavg()[0]:.0f})"
    )
    return int(bool(missed) or len(found) < 2)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
