"""How long a space is stopped when it moves, with few agents and with many.

    just bench move

Moves a space of `--few` agents and one of `--many` between two databases while a writer adds turns
to both. Prints the time of the whole move and of its stop. With many agents, the space may be
stopped a quarter of a second longer than with few.
"""

import argparse
import asyncio
import os
import random
import time
from contextlib import suppress
from urllib.parse import urlsplit

import asyncpg
from msgspec import Struct

import sapwood
from bench.scale_rows import SPACE, agent_of, copy_agents
from sapwood.app.space_move import move_space
from sapwood.core.errors import LogError
from sapwood.core.ids import AgentId
from sapwood.store.postgres import PostgresLog
from tools.postgres import cluster

_LONGER = 0.25
_RECEIPTS = """
    INSERT INTO sapwood.receipts (space, command, data, at)
    SELECT space, command, '{}', now() - interval '1 day' FROM sapwood.events
"""


class _Moved(Struct, frozen=True):
    """One move: its whole time and its stop in seconds, and the turns that were added meanwhile."""

    events: int
    seconds: float
    stop: float
    stops: int
    turns: int


def main(args: list[str]) -> int:
    """Prints a line for each space. Returns 1 if the stop grows with the space."""
    parser = argparse.ArgumentParser(prog="python -m bench move")
    parser.add_argument("--quick", action="store_true", help="a tenth of the agents")
    parser.add_argument("--few", type=int, default=1_000)
    parser.add_argument("--many", type=int, default=20_000)
    parser.add_argument("--rate", type=float, default=20.0, help="turns of the writer a second")
    options = parser.parse_args(args)
    share = 10 if options.quick else 1
    stops: list[float] = []
    for agents in (options.few // share, options.many // share):
        with cluster(volatile=True) as server:
            found = asyncio.run(_measure(server.dsn, agents, options.rate))
        stops.append(found.stop)
        print(
            f"move: {agents} agents with {found.events} events in {found.seconds:.1f} s, while "
            f"{found.turns} turns were added; stopped for {found.stop:.2f} s, {found.stops} times; "
            f"load of the machine {os.getloadavg()[0]:.1f}",
            flush=True,
        )
    longer = stops[1] - stops[0]
    print(f"move: the larger space was stopped {longer:.2f} s longer (limit {_LONGER} s)")
    return int(longer > _LONGER)


async def _measure(dsn: str, agents: int, rate: float) -> _Moved:
    session = await asyncpg.connect(dsn)
    await session.execute("CREATE DATABASE there")
    there = urlsplit(dsn)._replace(path="/there").geturl()
    await (await PostgresLog.open(dsn)).close()
    await copy_agents(dsn, 0, agents - 1)
    await session.execute(_RECEIPTS)
    await session.execute("VACUUM ANALYZE")
    await session.close()
    turns, moving = 0, True

    async def write() -> None:
        nonlocal turns
        chance = random.Random(1)
        async with sapwood.open(dsn, space=SPACE) as db:
            with suppress(LogError):  # the space has moved
                while moving:
                    agent = await db.get(AgentId(agent_of(chance.randrange(agents))))
                    await agent.record("And tomorrow?", "Colder.")
                    turns += 1
                    await asyncio.sleep(1 / rate)

    writer = asyncio.create_task(write())
    began = time.monotonic()
    report = await move_space(dsn, SPACE, there)
    took = time.monotonic() - began
    moving = False
    await writer
    return _Moved(report.events, took, report.pause, report.stops, turns)
