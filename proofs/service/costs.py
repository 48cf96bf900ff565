"""What turns cost: commits, WAL, CPU and connections, read from PostgreSQL and from Linux."""

import asyncio
import os
import resource
import time
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
    """Counts since the start of everything; the difference of two is what happened between.

    `cpu` are the seconds of the database, the workers and the engine, `own` those of this process.
    """

    commits: int = 0
    wal: int = 0
    cpu: float = 0.0
    own: float = 0.0

    def since(self, before: "Costs") -> "Costs":
        """What happened since then. A crash of the database resets its count of commits."""
        commits, wal = self.commits - before.commits, self.wal - before.wal
        return Costs(max(0, commits), max(0, wal), self.cpu - before.cpu, self.own - before.own)

    def and_of(self, other: "Costs") -> "Costs":
        """The sum of both."""
        return Costs(
            self.commits + other.commits,
            self.wal + other.wal,
            self.cpu + other.cpu,
            self.own + other.own,
        )

    def of_turns(self, turns: int) -> str:
        """The cost of each of these turns, in words."""
        commits = f"{self.commits / turns:.1f}" if self.commits else "uncounted"
        return (
            f"{commits} commits, {self.wal / 1e3 / turns:.1f} kB of WAL, {self.cpu / turns:.2f} s "
            f"of CPU and {self.own / turns:.3f} s of clients and model for each turn"
        )


async def costs(dsn: str) -> Costs:
    """The counts of the database at this address, and the CPU of it, of all workers and of us."""
    connection = await asyncpg.connect(dsn)
    try:
        row = await connection.fetchrow(_NOW)
    finally:
        await connection.close()
    assert row is not None
    return Costs(row["commits"], row["wal"], _cpu_of_children(), time.process_time())


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
