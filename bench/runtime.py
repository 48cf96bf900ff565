"""What a turn costs in the runtime, beside bare DBOS; and what an idle agent costs a worker.

    python -m bench runtime [--quick]

Ours: so many agents at once are sent prompts, one after the other. Each turn is one of three steps,
as turns of agents are: a model asks for a tool, the tool answers, the model does; model and tool
answer at once. It goes the whole way: the prompt committed, the agent woken, driven, every event in
the log, the drive recorded. Bare: as many workflows of three empty steps, with as many under way at
once. The two take turns in one run; at least half of bare is asked for. What a turn takes with one
agent is all overhead. On SQLite and on PostgreSQL.

Idle: a `sapwood worker` on a database of agents that were all driven once, and sleep.
"""

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from msgspec import Struct

from bench import QUICK_SLACK
from bench.database import own_database
from bench.runtime_bare import all_recorded, bare_workflows
from bench.runtime_idle import measure_idle
from sapwood.api import Sapwood
from sapwood.app.config import Config
from sapwood.app.connection import Connection, connect
from sapwood.app.running import Running
from sapwood.core.calling import ToolOutcome, ToolUse
from sapwood.core.content import ToolCall
from sapwood.core.events import TurnCompleted
from sapwood.core.ids import AgentId
from sapwood.core.log import Append
from sapwood.core.view import Request
from sapwood.engine import Limits
from sapwood.engine.dbos import DbosEngine
from sapwood.engine.dbos.place import Place, find_place
from sapwood.testing import NoTools, PlannedModel
from tools.postgres import dsn_or_throwaway

AGENTS, QUICK_AGENTS = (1, 50, 500), (1, 50)
STEPS = 3
LEAST_RATIO = 0.5
MOST_MEGABYTES = 200
IDLE, QUICK_IDLE = (10_000, 10.0), (300, 1.0)
_PROMPT, _RESULT = "Look.", "Seen."


class Turns(Struct, frozen=True):
    """Turns and bare workflows a second, with so many at once: all rounds together."""

    agents: int
    ours: list[float]
    bare: list[float]

    @property
    def ratio(self) -> float:
        """Ours as a part of bare, at the median of rounds that came one after the other."""
        return statistics.median(a / b for a, b in zip(self.ours, self.bare, strict=True))


# Ours


class Looking(NoTools):
    """A tool that answers at once."""

    async def run(self, use: ToolUse) -> ToolOutcome:
        return ToolOutcome(_RESULT)


def plan(request: Request, heard: str) -> str | ToolCall:
    """Asks for the tool, then answers."""
    return "Done." if heard == _RESULT else ToolCall("1", "look")


class OurTurns:
    """Agents that run in this process, and how to have them make turns."""

    def __init__(self, connection: Connection, place: Place, agents: list[AgentId]) -> None:
        self._wood = Sapwood(connection)
        self._place = place
        self._agents = agents
        self._ended = {agent: asyncio.Event() for agent in agents}
        connection.dispatcher.on_commit(self._committed)

    async def one(self, number: int) -> None:
        """A turn from its prompt to its end."""
        agent = self._agents[number]
        self._ended[agent].clear()
        await (await self._wood.agent(agent)).submit(_PROMPT)
        await self._ended[agent].wait()

    async def settle(self) -> None:
        """Returns when the engine has recorded everything."""
        await all_recorded(self._place)

    def _committed(self, appends: tuple[Append, ...]) -> None:
        for append in appends:
            if any(isinstance(recorded.event, TurnCompleted) for recorded in append.events):
                self._ended[append.agent].set()


@asynccontextmanager
async def our_turns(address: str, agents: int) -> AsyncGenerator[OurTurns]:
    """So many new agents, run as `sapwood worker` would but with a model in memory."""
    connection = await connect(address)
    engine = DbosEngine(address, Limits(per_worker=Config().workers))
    running = Running(connection, engine, PlannedModel(plan), Looking())
    place = await asyncio.to_thread(find_place, address)
    try:
        await running.start()
        wood = Sapwood(connection)
        started = [(await wood.start(model="planned")).id for _ in range(agents)]
        yield OurTurns(connection, place, started)
    finally:
        await running.close()
        await connection.close()
        place.database.dispose()


# Both


async def timed(
    one: Callable[[int], Awaitable[None]],
    settle: Callable[[], Awaitable[None]],
    agents: int,
    turns: int,
) -> float:
    """So many turns, or workflows, a second."""

    async def some(number: int) -> None:
        for _ in range(turns // agents):
            await one(number)

    await one(0)  # connections and compiled statements
    started = time.perf_counter()
    await asyncio.gather(*(some(number) for number in range(agents)))
    await settle()
    return turns // agents * agents / (time.perf_counter() - started)


async def measure_ours(address: str, agents: int, turns: int) -> float:
    async with our_turns(address, agents) as ours:
        return await timed(ours.one, ours.settle, agents, turns)


async def measure_bare(address: str, at_once: int, workflows: int) -> float:
    async with bare_workflows(address, STEPS) as bare:
        return await timed(bare.one, bare.settle, at_once, workflows)


def measure(ours: str, bare: str, agents: int, turns: int, rounds: int) -> Turns:
    """Takes turns between the two, each on the database at its address."""
    found = Turns(agents, [], [])
    for _ in range(rounds):
        found.ours.append(asyncio.run(measure_ours(ours, agents, turns)))
        found.bare.append(asyncio.run(measure_bare(bare, agents, turns)))
    return found


def report(kind: str, ours: str, bare: str, quick: bool) -> list[float]:
    """Prints every number of agents; returns the ratios."""
    ratios: list[float] = []
    for agents in QUICK_AGENTS if quick else AGENTS:
        turns = 2 * agents if quick else max(200, 2 * agents)
        found = measure(ours, bare, agents, max(turns, 30), rounds=1 if quick else 3)
        ratios.append(found.ratio)
        a_second, bare_a_second = statistics.median(found.ours), statistics.median(found.bare)
        print(
            f"{kind}, {agents:>3} agents: {a_second:4.0f} turns/s ({1000 / a_second:5.1f} ms each),"
            f" bare DBOS {bare_a_second:4.0f} workflows/s, {found.ratio:.2f} of bare",
            flush=True,
        )
    return ratios


def main(argv: list[str]) -> int:
    """Prints the figures; fails when they are short."""
    parser = argparse.ArgumentParser(prog="python -m bench runtime", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer agents and turns")
    options = parser.parse_args(argv)
    least = LEAST_RATIO / QUICK_SLACK if options.quick else LEAST_RATIO
    with (
        tempfile.TemporaryDirectory(prefix="sapwood-bench-") as name,
        dsn_or_throwaway() as server,
        own_database(server) as ours,
        own_database(server) as bare,
    ):
        folder = Path(name)
        ratios = report("SQLite", str(folder / "a.db"), str(folder / "b.db"), options.quick)
        ratios += report("PostgreSQL", ours, bare, options.quick)
        idle = asyncio.run(
            measure_idle(folder / "idle.db", *(QUICK_IDLE if options.quick else IDLE))
        )
    print(idle)
    print(
        f"runtime: at worst {min(ratios):.2f} of bare DBOS (at least {least:.2f}),"
        f" {idle.agents:,} idle agents cost a worker {idle.megabytes:.0f} MB"
        f" (at most {MOST_MEGABYTES})"
    )
    return int(min(ratios) < least or idle.megabytes > MOST_MEGABYTES)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
