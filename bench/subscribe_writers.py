"""The writers of `bench.subscribe`, four in each of four processes.

Each writer has its own agents. Every few commits, it appends to one of them and to an agent that
all writers share, so that commits wait for each other and end in another order than they began.
"""

import asyncio
import random
import time

from sapwood.core.events import HUMAN, Recorded, ToolFinished
from sapwood.core.ids import AgentId, CommandId, EventRef, Space
from sapwood.core.log_values import AgentSummary, Append, Commit, Receipt, VersionConflict
from sapwood.store.postgres import PostgresLog

PROCESSES, WRITERS = 4, 16
SPACE = Space("bench")
SHARED = 4
TEXT = "some words of a tool that had much to say " * 4

Acknowledged = dict[EventRef, float]
"""The time at which the commit of each event returned."""


def run_writers(dsn: str, process: int, events: int) -> Acknowledged:
    """Runs the writers of one process, with this number of events each."""
    return asyncio.run(_run(dsn, process, events))


async def write_one(log: PostgresLog, agent: AgentId, number: int) -> EventRef:
    """A commit of one event."""
    await log.commit(SPACE, _commit(f"{agent}-{number}", (agent, number, 1)))
    return EventRef(agent, number + 1)


async def _run(dsn: str, process: int, events: int) -> Acknowledged:
    log = await PostgresLog.open(dsn)
    acknowledged: Acknowledged = {}
    each = WRITERS // PROCESSES
    await asyncio.gather(
        *(_write(log, process * each + n, events, acknowledged) for n in range(each))
    )
    await log.close()
    return acknowledged


async def _write(log: PostgresLog, writer: int, events: int, acknowledged: Acknowledged) -> None:
    dice = random.Random(writer)
    own = [AgentId(f"writer-{writer}-{n}") for n in range(3)]
    versions = dict.fromkeys(own, 0)
    left, number = events, 0
    while left:
        agent, count = dice.choice(own), min(left, dice.randint(1, 8))
        growing = [(agent, versions[agent], count)]
        if number % 8 == 7 and count > 1:
            shared = AgentId(f"shared-{dice.randrange(SHARED)}")
            summary = await log.summary(SPACE, shared)
            growing = [
                (agent, versions[agent], count - 1),
                (shared, summary.version if summary else 0, 1),
            ]
        try:
            await log.commit(SPACE, _commit(f"{writer}-{number}", *growing))
        except VersionConflict:
            continue  # another writer was first at the shared agent: read its version and try again
        done = time.time()
        for name, expected, grown in growing:
            acknowledged.update((EventRef(name, expected + n), done) for n in range(1, grown + 1))
        versions[agent] += growing[0][2]
        left -= count
        number += 1


def _commit(command: str, *growing: tuple[AgentId, int, int]) -> Commit:
    id_ = CommandId(command)
    appends = tuple(
        Append(
            agent,
            expected,
            tuple(
                Recorded(agent, expected + n, ToolFinished(command, TEXT), n, HUMAN, id_)
                for n in range(1, count + 1)
            ),
            AgentSummary(agent, expected + count),
        )
        for agent, expected, count in growing
    )
    return Commit(appends, Receipt(id_))
