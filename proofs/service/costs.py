"""What turns cost: commits, WAL, CPU and connections, read from PostgreSQL and from Linux."""

import asyncio
import os
import resource
from collections.abc import Callable
from pathlib import Path

import asyncpg
from msgspec import Struct

_LOOK = 2.0
_TICK = os.sysconf("SC_CLK_TCK")
_NOW = (
    "SELECT (SELECT sum(xact_commit) FROM pg_stat_database)::bigint AS commits,"
    " (pg_current_wal_lsn() - '0/0'::pg_lsn)::bigint AS wal"
)
_CONNECTIONS = (
    "SELECT count(*) FROM pg_stat_activity"
    " WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
)


class Costs(Struct, frozen=True):
    """Counts since the start of everything; the difference of two is what happened between."""

    commits: int
    wal: int
    cpu: float

    def of_turns(self, before: "Costs", turns: int) -> str:
        """The cost of each of these turns, in words. A crash of the database resets its counts."""
        commits, wal = self.commits - before.commits, (self.wal - before.wal) / 1e3
        counted = f"{commits / turns:.1f}" if commits > 0 else "uncounted"
        return (
            f"{counted} commits, {wal / turns:.1f} kB of WAL, "
            f"{(self.cpu - before.cpu) / turns:.2f} s of CPU for each turn"
        )


async def costs(dsn: str) -> Costs:
    """The counts of the database at this address, and the CPU of it and of all workers."""
    connection = await asyncpg.connect(dsn)
    try:
        row = await connection.fetchrow(_NOW)
    finally:
        await connection.close()
    assert row is not None
    return Costs(row["commits"], row["wal"], _cpu_of_children())


async def watch_connections(dsn: Callable[[], str], found: list[int]) -> None:
    """Counts the connections now and then, until it is cancelled."""
    while True:
        try:
            connection = await asyncpg.connect(dsn(), timeout=_LOOK)
            found.append(await connection.fetchval(_CONNECTIONS))
            await connection.close()
        except (OSError, asyncpg.PostgresError):
            pass
        await asyncio.sleep(_LOOK)


def _cpu_of_children() -> float:
    """Seconds of CPU of all processes that this one started, of those that have ended too."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ended.ru_utime + ended.ru_stime + sum(map(_cpu_of_family, _children(os.getpid())))


def _cpu_of_family(process: int) -> float:
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:15])) / _TICK + sum(map(_cpu_of_family, _children(process)))
    except OSError:  # it ended a moment ago
        return 0.0


def _children(process: int) -> list[int]:
    found: list[int] = []
    for tasks in Path(f"/proc/{process}/task").glob("*/children"):
        found += map(int, tasks.read_text().split())
    return found
