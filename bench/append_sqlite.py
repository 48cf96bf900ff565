"""The time to store a turn of eight events on SQLite, beside the bare driver.

The bare side runs the same eight inserts into the same tables, with the same triggers, in one
transaction of a plain `sqlite3` connection (WAL, synchronous FULL). It encodes nothing, keeps no
receipt and no list of agents. Both are measured alternately in one run, so that changes of the disk
affect both.
"""

import asyncio
import random
import sqlite3
import statistics
import sys
import tempfile
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from sapwood.core.content import Text
from sapwood.core.events import HUMAN, Event, Recorded, ReplyAdded, ToolFinished, TurnStarted
from sapwood.core.ids import AgentId, CommandId, Space
from sapwood.core.log_values import AgentSummary, Append, Commit, Receipt
from sapwood.store.sqlite import SqliteLog
from sapwood.store.sqlite.commit_rows import rows_of

EVENTS = 8
SPACE = Space("bench")
WARM_UP = 50
_INSERT = (
    "INSERT INTO events (space, agent, version, kind, data, contents, at, actor, command)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
)


@dataclass(frozen=True, slots=True)
class Figures:
    """Medians over all turns."""

    turns: int
    ours_ms: float
    bare_ms: float

    @property
    def ratio(self) -> float:
        """Our time divided by that of the bare driver."""
        return self.ours_ms / self.bare_ms


def measure_sqlite(turns: int) -> Figures:
    """Measures the same number of turns on both sides."""
    with tempfile.TemporaryDirectory(prefix="sapwood-bench-") as folder:
        return asyncio.run(_measure(Path(folder), turns))


async def _measure(folder: Path, turns: int) -> Figures:
    log = await SqliteLog.open(folder / "ours.db")
    await (await SqliteLog.open(folder / "bare.db")).close()  # for its tables and triggers
    ours: list[float] = []
    bare: list[float] = []
    with closing(sqlite3.connect(folder / "bare.db", isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = FULL")
        commits = [commit_of_turn(AgentId("ada"), number) for number in range(WARM_UP + turns)]
        for number, commit in enumerate(commits):
            if number % 2:
                ours.append(await _ours(log, commit))
                bare.append(_bare(connection, commit))
            else:
                bare.append(_bare(connection, commit))
                ours.append(await _ours(log, commit))
    await log.close()
    return Figures(turns, _median_ms(ours), _median_ms(bare))


async def _ours(log: SqliteLog, commit: Commit) -> float:
    started = time.perf_counter()
    await log.commit(SPACE, commit)
    return time.perf_counter() - started


def _bare(connection: sqlite3.Connection, commit: Commit) -> float:
    rows = rows_of(SPACE, commit).events
    started = time.perf_counter()
    connection.execute("BEGIN IMMEDIATE")
    connection.executemany(_INSERT, rows)
    connection.execute("COMMIT")
    return time.perf_counter() - started


def _median_ms(seconds: list[float]) -> float:
    return statistics.median(seconds[WARM_UP:]) * 1000


def commit_of_turn(agent: AgentId, number: int) -> Commit:
    """The `number`-th turn of an agent, counted from 0: eight events of about 1 kB."""
    command, words = CommandId(f"{agent}-{number:08}"), random.Random(number)
    events = tuple(
        Recorded(agent, version, _event(place, words), version * 1000, HUMAN, command)
        for place, version in enumerate(range(number * EVENTS + 1, number * EVENTS + EVENTS + 1))
    )
    summary = AgentSummary(
        agent, number * EVENTS + EVENTS, model="model", updated=number, tokens=number
    )
    receipt = Receipt(command, "", tuple(event.ref for event in events))
    return Commit((Append(agent, number * EVENTS, events, summary),), receipt)


def _event(place: int, words: random.Random) -> Event:
    text = " ".join(f"{words.getrandbits(40):010x}" for _ in range(85))
    if place == 0:
        return TurnStarted(None, (Text(text),))
    return ReplyAdded((Text(text),)) if place % 2 else ToolFinished(str(place), text)


def main() -> None:
    """Prints the figures. The argument is the number of turns."""
    figures = measure_sqlite(int(sys.argv[1]) if len(sys.argv) > 1 else 2000)
    print(
        f"append sqlite: {figures.turns} turns of {EVENTS} events, median {figures.ours_ms:.3f} ms,"
        f" bare driver {figures.bare_ms:.3f} ms, {figures.ratio:.2f}x"
    )


if __name__ == "__main__":
    main()
