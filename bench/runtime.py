"""The cost of a turn in the runtime, beside bare workflows of DBOS, and the cost of an idle agent.

    python -m bench runtime [--quick] [--engines]

Ours: several agents run at once, and each gets one prompt after the other. A turn has three steps:
the model calls a tool, the tool returns, the model answers; model and tool return at once. It
includes everything: the prompt is committed, the agent is woken and driven, every event is in the
log, and the wake request is deleted. DBOS: workflows of three empty steps at the same concurrency,
in the peers' environment: nothing is woken, no history is read and no events are written. Both run
alternately; ours must reach a part of the rate. With one agent, the time of a turn is all overhead.
On SQLite and on PostgreSQL, in a process that drives its agents itself and in a worker.

Idle: a `sapwood worker` on a database whose agents were all driven once and now sleep.

Engines: ours and Temporal beside each other, see `bench.runtime_engines`; `--engines` runs only
this part.
"""

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from msgspec import Struct

from bench import QUICK_CLOCK_SLACK
from bench.database import own_database
from bench.kept_figures import figure
from bench.peers import dbos_turns
from bench.runtime_engines import (
    EngineKind,
    measure_delay,
    measure_waiting,
    process,
    temporal,
    worker,
)
from bench.runtime_idle import measure_idle
from sapwood.api import Sapwood
from sapwood.app.agent_runner import AgentRunner
from sapwood.app.connection import Connection, connect
from sapwood.config.config_file import Config
from sapwood.core.content import ToolCall
from sapwood.core.events import TurnCompleted
from sapwood.core.ids import AgentId
from sapwood.core.log_values import Append
from sapwood.core.model_calls import ToolOutcome, ToolUse
from sapwood.core.view import Request
from sapwood.engine.workers import read_engine_status
from sapwood.testing import FakeModel, NoTools
from tools.postgres import dsn_or_throwaway
from tools.temporal_server import throwaway

AGENTS, ENGINE_AGENTS, QUICK_AGENTS = (1, 50, 500), (1, 50), (20,)
LEAST_RATIO = 0.6
LEAST_OF_MANY = 2.0
"""With 50 agents on SQLite, where the commits of many agents are one."""
MAX_MEGABYTES = 120
MAX_DELAY = 2.0
"""Seconds from wake to drive, the median of each engine."""
IDLE, QUICK_IDLE = (10_000, 10.0), (300, 1.0)
_PROMPT, _RESULT = "Look.", "Seen."


class Turns(Struct, frozen=True):
    """Turns of ours and workflows of DBOS per second at one concurrency, over all rounds."""

    agents: int
    ours: list[float]
    dbos: list[float]

    @property
    def ratio(self) -> float:
        """Our rate divided by that of DBOS: the median over pairs of rounds."""
        return statistics.median(a / b for a, b in zip(self.ours, self.dbos, strict=True))


# Ours


class Looking(NoTools):
    """A tool that answers at once."""

    async def run(self, use: ToolUse) -> ToolOutcome:
        return ToolOutcome(_RESULT)


def plan(request: Request, heard: str) -> str | ToolCall:
    """Asks for the tool, then answers."""
    return "Done." if heard == _RESULT else ToolCall("1", "look")


class OurTurns:
    """Agents that run in this process, and the turns that they make."""

    def __init__(self, connection: Connection, agents: list[AgentId]) -> None:
        self._db = Sapwood(connection)
        self._address = connection.address
        self._agents = agents
        self._ended = {agent: asyncio.Event() for agent in agents}
        connection.dispatcher.on_commit(self._committed)

    async def one(self, number: int) -> None:
        """Runs a turn from its prompt to its end."""
        agent = self._agents[number]
        self._ended[agent].clear()
        await (await self._db.find(agent)).run_command(_PROMPT)
        await self._ended[agent].wait()

    async def settle(self) -> None:
        """Waits until the engine has recorded everything."""
        while (await read_engine_status(self._address)).queued:  # noqa: ASYNC110  # of the engine
            await asyncio.sleep(0.002)

    def _committed(self, appends: tuple[Append, ...]) -> None:
        for append in appends:
            if any(isinstance(recorded.event, TurnCompleted) for recorded in append.events):
                self._ended[append.agent].set()


@asynccontextmanager
async def our_turns(
    address: str, agents: int, kind: EngineKind | None = None
) -> AsyncGenerator[OurTurns]:
    """New agents, run as by `sapwood worker` but with a model in memory."""
    connection = await connect(address)
    engine = (kind or process(address, Config().workers)).make()
    running = AgentRunner(connection, engine, FakeModel(plan), Looking())
    try:
        await running.start()
        db = Sapwood(connection)
        started = [(await db.start(model="planned")).id for _ in range(agents)]
        yield OurTurns(connection, started)
    finally:
        await running.close()
        await connection.close()


# Both


async def measure_ours(
    address: str, agents: int, turns: int, kind: EngineKind | None = None
) -> float:
    """Turns per second."""
    async with our_turns(address, agents, kind) as ours:

        async def some(number: int) -> None:
            for _ in range(turns // agents):
                await ours.one(number)

        await ours.one(0)  # connections and compiled statements
        started = time.perf_counter()
        await asyncio.gather(*(some(number) for number in range(agents)))
        await ours.settle()
        return turns // agents * agents / (time.perf_counter() - started)


def measure(ours: str, dbos: str, agents: int, turns: int, rounds: int, kind: EngineKind) -> Turns:
    """Measures both alternately, each on its own database."""
    found = Turns(agents, [], [])
    for _ in range(rounds):
        found.ours.append(asyncio.run(measure_ours(ours, agents, turns, kind)))
        found.dbos.append(dbos_turns(dbos, agents, turns))
    return found


def report(database: str, ours: str, dbos: str, quick: bool) -> list[Turns]:
    """Prints the rates of both engines for each number of agents; returns the measurements."""
    measured: list[Turns] = []
    at_once = Config().workers
    for kind in (process(ours, at_once), worker("a worker", ours, at_once)):
        for agents in QUICK_AGENTS if quick else AGENTS:
            turns = max(2 * agents, 30) if quick else max(200, 2 * agents)
            found = measure(ours, dbos, agents, turns, 1 if quick else 3, kind)
            measured.append(found)
            a_second, dbos_a_second = statistics.median(found.ours), statistics.median(found.dbos)
            print(
                f"{database}, {agents:>3} agents in {kind.name}: {a_second:4.0f} turns/s"
                f" ({1000 / a_second:5.1f} ms each), bare DBOS {dbos_a_second:4.0f} turns/s,"
                f" {found.ratio:.2f} of it",
                flush=True,
            )
    return measured


def report_engines(folder: Path, server: str, *, quick: bool) -> list[float]:
    """Prints the figures of ours and Temporal; returns the median delays from wake to drive."""
    delays: list[float] = []
    at_once = Config().workers
    file = str(folder / "engines.db")
    with (
        own_database(server) as log,
        own_database(server) as log_of_temporal,
        throwaway() as temporal_server,
    ):
        kinds = (
            (file, worker("Ours on SQLite", file, at_once)),
            (log, worker("Ours on PostgreSQL", log, at_once)),
            (log_of_temporal, temporal(temporal_server.address, temporal_server.pid, at_once)),
        )
        for address, kind in kinds:
            for agents in QUICK_AGENTS if quick else ENGINE_AGENTS:
                turns = max(20, agents * (1 if quick else 4))
                rate = asyncio.run(measure_ours(address, agents, turns, kind))
                print(f"{kind.name}, {agents:>3} agents: {rate:4.0f} turns/s", flush=True)
            delay = asyncio.run(measure_delay(kind, 5 if quick else 30))
            print(f"{kind.name}, from wake to drive: {delay}", flush=True)
            waiting = measure_waiting(kind, 20 if quick else 200, 2.0 if quick else 10.0)
            print(f"{kind.name}: {asyncio.run(waiting)}", flush=True)
            delays += [statistics.median(delay.here), statistics.median(delay.elsewhere)]
    return delays


def main(argv: list[str]) -> int:
    """Prints the figures; returns 1 if one misses its limit."""
    parser = argparse.ArgumentParser(prog="python -m bench runtime", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer agents and turns")
    parser.add_argument("--engines", action="store_true", help="only ours beside Temporal")
    options = parser.parse_args(argv)
    slack = QUICK_CLOCK_SLACK if options.quick else 1.0
    least, least_of_many = LEAST_RATIO / slack, LEAST_OF_MANY / slack
    with (
        tempfile.TemporaryDirectory(prefix="sapwood-bench-") as name,
        dsn_or_throwaway() as server,
        own_database(server) as ours,
        own_database(server) as dbos,
    ):
        folder = Path(name)
        delays = report_engines(folder, server, quick=options.quick)
        slowest = f"from wake to drive {max(delays):.2f} s at most (limit {MAX_DELAY:.0f})"
        if options.engines:
            print(f"runtime: {slowest}")
            return int(max(delays) > MAX_DELAY)
        in_file = report("SQLite", str(folder / "a.db"), str(folder / "b.db"), options.quick)
        on_server = report("PostgreSQL", ours, dbos, options.quick)
        idle = asyncio.run(
            measure_idle(folder / "idle.db", *(QUICK_IDLE if options.quick else IDLE))
        )
    worst = min(each.ratio for each in (*in_file, *on_server))
    many = min(each.ratio for each in in_file if each.agents in (*QUICK_AGENTS, 50))
    print(idle)
    print(
        f"runtime: at worst {worst:.2f} of bare DBOS (at least {least:.2f}), {many:.2f} with"
        f" many agents on SQLite (at least {least_of_many:.2f}),"
        f" {idle.agents:,} idle agents cost a worker {idle.megabytes:.0f} MB"
        f" (at most {MAX_MEGABYTES}), {slowest}"
    )
    figure("runtime: worst share of bare DBOS", worst, "more")
    figure("runtime: share of bare DBOS of many agents on SQLite", many, "more")
    figure("runtime: MB of idle agents", idle.megabytes)
    missed = worst < least or many < least_of_many or idle.megabytes > MAX_MEGABYTES
    return int(missed or max(delays) > MAX_DELAY)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
