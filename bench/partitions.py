"""What reads and writes would cost if events were partitioned by their age too.

    just bench partitions

Fills two tables with the same events: one with 32 partitions by agent, as the log has, and one with
`--ages` of 8 partitions each, by default 12. Prints how long one client waits for each statement.
It has no limit: record 151 decides by it.
"""

import argparse
import asyncio
import random
import statistics
import time

import asyncpg

from tools.postgres import cluster

_AGENTS, _EACH, _PARTS, _PARTS_OF_AGE = 4_000, 50, 32, 8
_COLUMNS = """
    space text COLLATE "C" NOT NULL, agent text COLLATE "C" NOT NULL, version bigint NOT NULL,
    kind text NOT NULL, data text NOT NULL, at bigint NOT NULL, tx bigint NOT NULL,
    position bigint NOT NULL
"""
_FILL = """
    INSERT INTO {table} SELECT 'one', 'agent-' || number % $1, number / $1 + 1, 'reply.added',
        repeat(md5(number::text), 10), number, number, number
    FROM generate_series(0, $1 * $2 - 1) AS number
"""
_LAST = """
    SELECT version, kind, data FROM {table} WHERE space = 'one' AND agent = $1
    ORDER BY version DESC LIMIT 5
"""
_TAIL = """
    SELECT agent, version, data FROM {table} WHERE space = 'one' AND (tx, position) > ($1, $1)
    ORDER BY tx, position LIMIT 100
"""
_INSERT = "INSERT INTO {table} VALUES ('one', $1, $2, 'reply.added', 'text', $3, $3, $3)"


def main(args: list[str]) -> int:
    """Prints a line for each statement."""
    parser = argparse.ArgumentParser(prog="python -m bench partitions")
    parser.add_argument("--quick", action="store_true", help="a tenth of the events")
    parser.add_argument("--ages", type=int, default=12)
    options = parser.parse_args(args)
    share = 10 if options.quick else 1
    with cluster(volatile=True) as server:
        found = asyncio.run(_measure(server.dsn, _AGENTS // share, options.ages))
    for name, (by_agent, by_age) in found.items():
        print(
            f"partitions: {name}: {by_agent:.2f} ms by agent, {by_age:.2f} ms by age and agent "
            f"({by_age / by_agent:.1f} times)"
        )
    return 0


async def _measure(dsn: str, agents: int, ages: int) -> dict[str, tuple[float, float]]:
    """Milliseconds of each statement, with both tables."""
    session = await asyncpg.connect(dsn)
    await session.execute(_by_agent())
    await session.execute(_by_age(agents * _EACH, ages))
    for table in ("by_agent", "by_age"):
        await session.execute(f"CREATE INDEX ON {table} (space, tx, position)")
        await session.execute(
            _FILL.format(table=table).replace("$1", str(agents)).replace("$2", str(_EACH))
        )
        await session.execute(f"VACUUM ANALYZE {table}")
    found: dict[str, tuple[float, float]] = {}
    for name, plan, statement in (
        ("the last 5 events of an agent", "force_custom_plan", _LAST),
        ("100 events of a tail", "force_generic_plan", _TAIL),
        ("insert of one event", "force_generic_plan", _INSERT),
    ):
        await session.execute(f"SET plan_cache_mode = {plan}")
        by_agent, by_age = [
            await _median(session, statement.format(table=table), agents)
            for table in ("by_agent", "by_age")
        ]
        found[name] = (by_agent, by_age)
    await session.close()
    return found


def _by_agent() -> str:
    parts = (
        f"CREATE TABLE by_agent_{part} PARTITION OF by_agent"
        f" FOR VALUES WITH (MODULUS {_PARTS}, REMAINDER {part})"
        for part in range(_PARTS)
    )
    table = (
        f"CREATE TABLE by_agent ({_COLUMNS}, PRIMARY KEY (space, agent, version))"
        " PARTITION BY HASH (space, agent)"
    )
    return ";".join((table, *parts))


def _by_age(events: int, ages: int) -> str:
    statements = [
        f"CREATE TABLE by_age ({_COLUMNS}, PRIMARY KEY (space, agent, version, at))"
        " PARTITION BY RANGE (at)"
    ]
    for age in range(ages):
        first = f"({age * events // ages})"
        last = "(MAXVALUE)" if age == ages - 1 else f"({(age + 1) * events // ages})"
        statements.append(
            f"CREATE TABLE by_age_{age} PARTITION OF by_age FOR VALUES FROM {first} TO {last}"
            " PARTITION BY HASH (space, agent)"
        )
        statements += (
            f"CREATE TABLE by_age_{age}_{part} PARTITION OF by_age_{age}"
            f" FOR VALUES WITH (MODULUS {_PARTS_OF_AGE}, REMAINDER {part})"
            for part in range(_PARTS_OF_AGE)
        )
    return ";".join(statements)


async def _median(
    session: "asyncpg.Connection[asyncpg.Record]", query: str, agents: int, times: int = 300
) -> float:
    """The median of the milliseconds for one statement."""
    chance, events = random.Random(1), agents * _EACH
    prepared = await session.prepare(query)
    took: list[float] = []
    for number in range(times):
        agent = f"agent-{chance.randrange(agents)}"
        if "INSERT" in query:
            values: tuple[object, ...] = (agent, _EACH + 1 + number, events + number)
        elif "$1, $1" in query:
            values = (chance.randrange(events),)
        else:
            values = (agent,)
        began = time.perf_counter()
        await prepared.fetch(*values)
        took.append(time.perf_counter() - began)
    return 1_000 * statistics.median(took)
