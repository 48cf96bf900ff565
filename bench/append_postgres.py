"""The time to store a turn of eight events on PostgreSQL, beside the bare driver and pgbench.

The bare side has its own table, made by the same migration under another name: the same columns,
partitions, indexes, constraints and triggers. It encodes nothing and keeps no receipt and no list
of agents. It inserts the eight rows in one transaction, as one statement of eight rows and as one
that is executed eight times; the faster one counts. Both sides are measured alternately, with a
short pause before each turn, as between turns of agents.
"""

import asyncio
import itertools
import re
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import asyncpg

from bench.append_sqlite import EVENTS, SPACE, WARM_UP, Figures, commit_of_turn
from bench.database import own_database
from sapwood.core.events.codec import encode
from sapwood.core.ids import AgentId
from sapwood.core.log_values import Commit
from sapwood.store.postgres import PostgresLog
from sapwood.store.postgres.schema import migrations, script

WRITERS = 32
PAUSE = 0.003
Session: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
Row: TypeAlias = tuple[str, str, int, str, str, None, int, str, str]

_COLUMNS = "space, agent, version, kind, data, contents, at, actor, command"
_ONE_ROW = f"INSERT INTO bare.events ({_COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)"
_ALL_ROWS = f"INSERT INTO bare.events ({_COLUMNS}) VALUES " + ", ".join(
    "(" + ", ".join(f"${9 * row + column}" for column in range(1, 10)) + ")"
    for row in range(EVENTS)
)
_PGBENCH = (
    "\\set n :n + 8\n"
    f"INSERT INTO bare.events ({_COLUMNS}) VALUES "
    + ", ".join(
        f"('bench', 'pgbench-' || :round || '-' || :client_id, :n::bigint - {EVENTS - row - 1},"
        " 'tool.finished', :payload, NULL, 1750000000000000, 'human', 'command')"
        for row in range(EVENTS)
    )
    + ";\n"
)


@dataclass(frozen=True, slots=True)
class Crowd:
    """Turns per second of 32 writers."""

    ours: float
    pgbench: float

    @property
    def ratio(self) -> float:
        """Our rate divided by that of pgbench."""
        return self.ours / self.pgbench


def measure_postgres(server: str, turns: int) -> Figures:
    """Measures the same number of turns on both sides, alternately."""
    with own_database(server) as dsn:
        return asyncio.run(_measure(dsn, turns))


def measure_crowd(server: str, turns: int, rounds: int) -> Crowd:
    """Measures 32 writers, ours and pgbench's in alternating rounds."""
    with own_database(server) as dsn:
        return asyncio.run(_measure_crowd(dsn, turns, rounds))


async def _measure(dsn: str, turns: int) -> Figures:
    log = await _prepare(dsn)
    rows, many = await asyncpg.connect(dsn), await asyncpg.connect(dsn)
    statement = await rows.prepare(_ALL_ROWS)
    times: dict[str, list[float]] = {"ours": [], "rows": [], "many": []}
    for number in range(WARM_UP + turns):
        commit = commit_of_turn(AgentId("ours"), number)
        flat = list(itertools.chain.from_iterable(_rows(commit, "rows")))
        each = _rows(commit, "many")
        tasks: list[tuple[str, Callable[[], Awaitable[object]]]] = [
            ("ours", lambda commit=commit: log.commit(SPACE, commit)),
            ("rows", lambda flat=flat: statement.fetch(*flat)),
            ("many", lambda each=each: many.executemany(_ONE_ROW, each)),
        ]
        for name, task in tasks[number % 3 :] + tasks[: number % 3]:
            times[name].append(await _timed(task))
    await asyncio.gather(log.close(), rows.close(), many.close())
    ours, *bare = (statistics.median(spent[WARM_UP:]) * 1000 for spent in times.values())
    return Figures(turns, ours, min(bare))


async def _timed(task: Callable[[], Awaitable[object]]) -> float:
    await asyncio.sleep(PAUSE)
    started = time.perf_counter()
    await task()
    return time.perf_counter() - started


async def _measure_crowd(dsn: str, turns: int, rounds: int) -> Crowd:
    log = await _prepare(dsn)
    ours: list[float] = []
    pgbench: list[float] = []
    for number in range(rounds + 1):
        ours.append(await _our_round(log, number, turns))
        pgbench.append(await asyncio.to_thread(_pgbench_round, dsn, number, turns))
    await log.close()
    return Crowd(statistics.median(ours[1:]), statistics.median(pgbench[1:]))  # the first warms up


async def _our_round(log: PostgresLog, number: int, turns: int) -> float:
    agents = [AgentId(f"ours-{number}-{writer}") for writer in range(WRITERS)]
    work = {agent: [commit_of_turn(agent, turn) for turn in range(turns)] for agent in agents}

    async def write(commits: list[Commit]) -> None:
        for commit in commits:
            await log.commit(SPACE, commit)

    started = time.perf_counter()
    await asyncio.gather(*(write(commits) for commits in work.values()))
    return WRITERS * turns / (time.perf_counter() - started)


def _pgbench_round(dsn: str, number: int, turns: int) -> float:
    payload = encode(commit_of_turn(AgentId("pgbench"), 0).appends[0].events[2].event).data
    with tempfile.NamedTemporaryFile("w", suffix=".sql") as file:
        file.write(_PGBENCH)
        file.flush()
        command = [
            *(_pgbench(), "--no-vacuum", "--protocol=prepared", f"--file={file.name}"),
            *(f"--client={WRITERS}", "--jobs=2", f"--transactions={turns}"),
            *(f"--define=payload={payload}", "--define=n=0", f"--define=round={number}", dsn),
        ]
        done = subprocess.run(command, capture_output=True, text=True)
    found = re.search(r"tps = ([\d.]+)", done.stdout)
    if not found:
        raise RuntimeError(f"pgbench failed:\n{done.stderr}")
    return float(found[1])


def _pgbench() -> str:
    newest = max(Path("/usr/lib/postgresql").glob("*/bin/pgbench"), default=None, key=str)
    found = str(newest) if newest else shutil.which("pgbench")
    if not found:
        raise RuntimeError("pgbench is not installed; it comes with PostgreSQL")
    return found


async def _prepare(dsn: str) -> PostgresLog:
    """Creates the log in an empty database, and the bare table of the same shape beside it."""
    log = await PostgresLog.open(dsn)
    session: Session = await asyncpg.connect(dsn)
    await session.execute("CREATE SCHEMA bare")
    await session.execute("CREATE TABLE bare.migrations (number integer PRIMARY KEY, name text)")
    for name in migrations().values():
        await session.execute(script(name).replace("sapwood", "bare"))
    await session.close()
    return log


def _rows(commit: Commit, agent: str) -> list[Row]:
    return [
        (
            *(SPACE, agent, each.version, each.kind, encode(each.event).data, None),
            *(each.at, str(each.actor), each.command),
        )
        for each in commit.appends[0].events
    ]
