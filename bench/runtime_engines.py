"""The engines beside each other: turns a second, the delay from wake to drive, the cost of waiting.

A turn is that of `bench.runtime`, complete, with the log in PostgreSQL. The delay is measured with
agents that are idle, woken one after the other: in the process that drives them, and in a process
that only wakes. Waiting: agents whose wake is an hour away cost the worker and the server CPU.
Temporal is the development server on this machine with its own SQLite database, so its figures say
how the two compare here and nothing about a cluster.
"""

import asyncio
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from sapwood.config.config_file import TemporalConfig
from sapwood.core.ids import AgentId, Space
from sapwood.engine import DriveLimits
from sapwood.engine.process_engine import ProcessEngine
from sapwood.turns.scheduler import Engine
from sapwood_temporal import TemporalEngine

_SPACE = Space("bench")
_TICKS = os.sysconf("SC_CLK_TCK")


class EngineKind(Struct, frozen=True):
    """An engine, how to make one, and the process of its server if it has one."""

    name: str
    make: Callable[[], Engine]
    server: int | None = None


def worker(name: str, address: str, at_once: int) -> EngineKind:
    """The engine of a worker beside the log of this address."""
    limits = DriveLimits(per_worker=at_once)
    return EngineKind(name, lambda: ProcessEngine(address, limits, is_worker=True))


def process(address: str, at_once: int) -> EngineKind:
    """The engine of a process beside the log of this address."""
    limits = DriveLimits(per_worker=at_once)
    return EngineKind("a process", lambda: ProcessEngine(address, limits))


def temporal(address: str, server: int, at_once: int) -> EngineKind:
    """Temporal at this address."""
    config = TemporalConfig(address=address, task_queue="bench")
    limits = DriveLimits(per_worker=at_once)
    return EngineKind("Temporal", lambda: TemporalEngine(config, limits), server)


class Delay(Struct, frozen=True):
    """Seconds from wake to drive: woken in the process that drives, and in another one."""

    here: list[float]
    elsewhere: list[float]

    def __str__(self) -> str:
        return f"woken here {_spread(self.here)}, woken elsewhere {_spread(self.elsewhere)}"


class Waiting(Struct, frozen=True):
    """The CPU of worker and server in percent of a core: idle, and with waiting agents."""

    agents: int
    idle: tuple[float, float]
    waiting: tuple[float, float]

    def __str__(self) -> str:
        def shown(both: tuple[float, float]) -> str:
            return f"worker {both[0]:.1f} %, server {both[1]:.1f} % of a core"

        return f"idle {shown(self.idle)}; with {self.agents} waiting agents {shown(self.waiting)}"


async def measure_delay(kind: EngineKind, times: int) -> Delay:
    """Wakes idle agents one after the other."""
    driven: dict[str, asyncio.Future[float]] = {}

    async def drive(space: Space, agent: AgentId) -> None:
        waiting = driven.get(agent)
        if waiting is not None and not waiting.done():
            waiting.set_result(time.perf_counter())

    engine, waking = kind.make(), kind.make()
    await engine.launch(drive)

    async def one(through: Engine, name: str) -> float:
        driven[name] = asyncio.get_running_loop().create_future()
        began = time.perf_counter()
        await through.wake(_SPACE, AgentId(name))
        return await asyncio.wait_for(driven[name], 60) - began

    try:
        await one(engine, "first")  # connections and compiled statements
        await one(waking, "second")
        here = [await one(engine, f"here-{number}") for number in range(times)]
        elsewhere = [await one(waking, f"elsewhere-{number}") for number in range(times)]
    finally:
        await waking.close()
        await engine.close()
    return Delay(here, elsewhere)


async def measure_waiting(kind: EngineKind, agents: int, seconds: float) -> Waiting:
    """Measures a worker that has nothing to do, then one whose agents are to be woken later."""

    async def drive(space: Space, agent: AgentId) -> None:
        pass

    engine = kind.make()
    await engine.launch(drive)
    try:
        await asyncio.sleep(seconds / 2)
        idle = await _percent(kind, seconds)
        for number in range(agents):
            await engine.wake(_SPACE, AgentId(f"waits-{number}"), delay=3600)
        await asyncio.sleep(seconds / 2)
        return Waiting(agents, idle, await _percent(kind, seconds))
    finally:
        await engine.close()


async def _percent(kind: EngineKind, seconds: float) -> tuple[float, float]:
    own, server = time.process_time(), _cpu_seconds(kind.server)
    await asyncio.sleep(seconds)
    used = (time.process_time() - own, _cpu_seconds(kind.server) - server)
    return 100 * used[0] / seconds, 100 * used[1] / seconds


def _cpu_seconds(process: int | None) -> float:
    if process is None:
        return 0.0
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def _spread(seconds: list[float]) -> str:
    last = sorted(seconds)[round(0.95 * (len(seconds) - 1))]
    return f"{1000 * statistics.median(seconds):.0f} ms ({1000 * last:.0f} ms at 95 %)"
