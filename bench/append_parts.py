"""What an append of ours costs, part by part, beside the two messages alone.

Three ways to store the same turns durably (WAL, synchronous FULL), alternately in one run: the two
messages in a table of a plain `sqlite3` connection, as the smallest of the other stores does it;
the rows of ours by the same connection; and `agent.record`.
"""

import sqlite3
import statistics
import tempfile
import time
from collections.abc import Iterable
from contextlib import closing
from itertools import groupby
from pathlib import Path

from msgspec import Struct

import sapwood
from bench.peers.conversation import Message
from sapwood.core.events import Recorded
from sapwood.core.ids import CommandId, Space
from sapwood.core.log_values import AgentSummary, Append, Commit, Receipt
from sapwood.store.sqlite import SqliteLog
from sapwood.store.sqlite.commit_rows import rows_of, store

_SPACE = Space("local")


class AppendParts(Struct, frozen=True):
    """Median milliseconds of the three ways."""

    messages: float
    rows: float
    ours: float

    def __str__(self) -> str:
        return (
            f"an append, part by part: the two messages alone {self.messages:.2f} ms; events, "
            f"receipt, list of agents and search index {self.rows - self.messages:+.2f} ms; "
            f"masks, checks, encoding and the writer's thread {self.ours - self.rows:+.2f} ms"
        )


async def measure_parts(turns: list[tuple[Message, Message]]) -> AppendParts:
    """Stores these turns in all three ways."""
    times: tuple[list[float], list[float], list[float]] = ([], [], [])
    with tempfile.TemporaryDirectory(prefix="sapwood-") as name:
        folder = Path(name)
        commits = await _commits(folder / "first.db", turns)
        await (await SqliteLog.open(folder / "rows.db")).close()  # for its tables and triggers
        with (
            closing(_connected(folder / "messages.db")) as plain,
            closing(_connected(folder / "rows.db")) as bare,
        ):
            plain.execute("CREATE TABLE messages (id INTEGER PRIMARY KEY, session TEXT, data TEXT)")
            _store(bare, commits[0])
            async with sapwood.open(folder / "ours.db") as db:
                agent = await db.start("main", cap=0)
                for (prompt, reply), commit in zip(turns, commits[1:], strict=True):
                    times[0].append(_store_messages(plain, (prompt, reply)))
                    times[1].append(_store(bare, commit))
                    started = time.perf_counter_ns()
                    await agent.record(prompt.text, reply.text)
                    times[2].append((time.perf_counter_ns() - started) / 1e6)
    return AppendParts(*(statistics.median(each) for each in times))


async def _commits(file: Path, turns: list[tuple[Message, Message]]) -> list[Commit]:
    """The commits of ours for these turns: first that of the agent, then one for each turn."""
    async with sapwood.open(file) as db:
        agent = await db.start("main", cap=0)
        for prompt, reply in turns:
            await agent.record(prompt.text, reply.text)
        events = await agent.events()
    return [
        _commit(command, tuple(found))
        for command, found in groupby(events, key=lambda each: each.command)
    ]


def _commit(command: CommandId, events: tuple[Recorded, ...]) -> Commit:
    agent, last = events[0].agent, events[-1].version
    summary = AgentSummary(agent, last, model="", updated=last, tokens=last)
    receipt = Receipt(command, "", tuple(each.ref for each in events))
    return Commit((Append(agent, events[0].version - 1, events, summary),), receipt)


def _connected(file: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(file, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    return connection


def _store_messages(connection: sqlite3.Connection, messages: Iterable[Message]) -> float:
    started = time.perf_counter_ns()
    connection.execute("BEGIN IMMEDIATE")
    connection.executemany(
        "INSERT INTO messages (session, data) VALUES ('main', ?)", [(m.text,) for m in messages]
    )
    connection.execute("COMMIT")
    return (time.perf_counter_ns() - started) / 1e6


def _store(connection: sqlite3.Connection, commit: Commit) -> float:
    rows = rows_of(_SPACE, commit)
    started = time.perf_counter_ns()
    connection.execute("BEGIN IMMEDIATE")
    store(connection, rows)
    connection.execute("COMMIT")
    return (time.perf_counter_ns() - started) / 1e6
