"""What a wake costs on the durable engine, beside bare DBOS; and what a worker costs that idles.

    python -m bench.engine [--quick] [--postgres]

Ours: so many loops at once wake an agent, each time another, whose drive is empty. Bare: so many
loops at once start a workflow of one empty step, directly, which is its fastest way. Both on a
database with the same settings, taking turns in one run; a round is over when all that was begun
is recorded. At least half of bare is asked for.
"""

import argparse
import asyncio
import itertools
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa
from dbos import DBOS, DBOSConfig, DBOSPortableJSONSerializer

from sapwood.core.ids import AgentId, Space
from sapwood.engine.dbos import DbosEngine
from sapwood.engine.dbos.place import Place, find_place
from sapwood.engine.dbos.quiet import quieten
from tools.postgres import dsn_or_throwaway

__all__ = ["AT_ONCE", "Idle", "Wakes", "measure_idle", "measure_wakes"]

AT_ONCE = (1, 50, 500)
LEAST_RATIO = 0.5
MOST_MEGABYTES = 200
SPACE = Space("bench")
_IN_FLIGHT = "('ENQUEUED', 'PENDING')"
_numbers = itertools.count()


@dataclass(frozen=True, slots=True)
class Wakes:
    """Drives and bare workflows a second, with so many at once: medians over the rounds."""

    at_once: int
    ours: float
    bare: float

    @property
    def ratio(self) -> float:
        """Ours as a part of bare."""
        return self.ours / self.bare


@dataclass(frozen=True, slots=True)
class Idle:
    """A worker whose agents were all driven once and sleep."""

    agents: int
    cpu_percent: float
    megabytes: float


def measure_wakes(ours: str, bare: str, at_once: int, wakes: int, rounds: int = 3) -> Wakes:
    """Times both sides on the databases at two addresses, `wakes` a round."""
    found: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        found[0].append(wakes / asyncio.run(_ours(ours, at_once, wakes)))
        found[1].append(wakes / asyncio.run(_bare(bare, at_once, wakes)))
    return Wakes(at_once, *(statistics.median(figures) for figures in found))


def measure_idle(address: str, agents: int, seconds: float) -> Idle:
    """Has so many agents driven once, then watches the worker idle."""
    return asyncio.run(_idle(address, agents, seconds))


async def _ours(address: str, at_once: int, wakes: int) -> float:
    driven: dict[AgentId, asyncio.Event] = {}

    async def drive(space: Space, agent: AgentId) -> None:
        driven.pop(agent).set()

    async def one() -> None:
        agent = AgentId(f"agent-{next(_numbers)}")
        done = driven[agent] = asyncio.Event()
        await engine.wake(SPACE, agent)
        await done.wait()

    engine, place = DbosEngine(address), find_place(address)
    await engine.launch(drive)
    try:
        return await _timed(place, one, at_once, wakes)
    finally:
        await engine.close()
        place.database.dispose()


async def _bare(address: str, at_once: int, wakes: int) -> float:
    quieten()
    place = find_place(address)
    config = DBOSConfig(
        name="bare",
        application_version="bare",
        system_database_engine=place.database,
        dbos_system_schema=place.schema,
        serializer=DBOSPortableJSONSerializer(),
        max_executor_threads=place.threads,
        use_listen_notify=False,
        log_level="WARNING",
    )
    DBOS(config=config)

    @DBOS.step()
    async def step() -> None:
        pass

    @DBOS.workflow()
    async def workflow() -> None:
        await step()

    async def one() -> None:
        await (await DBOS.start_workflow_async(workflow)).get_result()

    DBOS.launch()
    try:
        return await _timed(place, one, at_once, wakes)
    finally:
        DBOS.destroy(destroy_registry=True)
        place.database.dispose()


async def _timed(
    place: Place, one: Callable[[], Awaitable[None]], at_once: int, wakes: int
) -> float:
    async def some() -> None:
        for _ in range(wakes // at_once):
            await one()

    await one()  # connections and compiled statements
    started = time.perf_counter()
    await asyncio.gather(*(some() for _ in range(at_once)))
    while _unfinished(place):  # noqa: ASYNC110  # another thread finishes them
        await asyncio.sleep(0.002)
    return time.perf_counter() - started


def _unfinished(place: Place) -> int:
    query = f"SELECT count(*) FROM {place.prefix}workflow_status WHERE status IN {_IN_FLIGHT}"
    with place.database.connect() as connection:
        return connection.execute(sa.text(query)).scalar_one()


async def _idle(address: str, agents: int, seconds: float) -> Idle:
    left = agents

    async def drive(space: Space, agent: AgentId) -> None:
        nonlocal left
        left -= 1

    engine, place = DbosEngine(address), find_place(address)
    await engine.launch(drive)
    for start in range(0, agents, 500):
        some = range(start, min(start + 500, agents))
        await asyncio.gather(*(engine.wake(SPACE, AgentId(f"idle-{n}")) for n in some))
    while left or _unfinished(place):  # noqa: ASYNC110
        await asyncio.sleep(0.05)
    before = time.process_time()
    await asyncio.sleep(seconds)
    percent = 100 * (time.process_time() - before) / seconds
    await engine.close()
    place.database.dispose()
    return Idle(agents, percent, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def _report(kind: str, ours: str, bare: str, quick: bool) -> list[float]:
    ratios: list[float] = []
    for at_once in AT_ONCE:
        wakes = (100 if at_once == 1 else 500) if quick else (200 if at_once == 1 else 1000)
        found = measure_wakes(ours, bare, at_once, wakes, rounds=3 if quick else 5)
        ratios.append(found.ratio)
        print(
            f"{kind}: {at_once:>3} at once: {found.ours:6.0f} wakes/s,"
            f" bare DBOS {found.bare:6.0f} workflows/s, {found.ratio:.2f} of bare",
            flush=True,
        )
    return ratios


def main(args: list[str]) -> bool:
    """Prints the figures; true if they are short."""
    parser = argparse.ArgumentParser(prog="bench engine")
    parser.add_argument("--quick", action="store_true", help="a smaller load")
    parser.add_argument("--postgres", action="store_true", help="PostgreSQL too")
    options = parser.parse_args(args)
    with tempfile.TemporaryDirectory(prefix="sapwood-bench-") as name:
        folder = Path(name)
        ratios = _report("SQLite", str(folder / "a.db"), str(folder / "b.db"), options.quick)
        agents, seconds = (500, 2.0) if options.quick else (10_000, 10.0)
        idle = measure_idle(str(folder / "a.db"), agents, seconds)
        print(
            f"SQLite: {idle.agents} idle agents: {idle.cpu_percent:.1f} % of a core,"
            f" {idle.megabytes:.0f} MB"
        )
    if options.postgres:
        with dsn_or_throwaway() as dsn:
            ratios += _report("PostgreSQL", dsn, dsn, options.quick)
    worst = min(ratios)
    print(
        f"engine: worst {worst:.2f} of bare DBOS (at least {LEAST_RATIO}), {idle.megabytes:.0f} MB"
    )
    return worst < LEAST_RATIO or idle.megabytes > MOST_MEGABYTES


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
