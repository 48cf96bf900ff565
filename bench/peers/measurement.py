"""What the peers' programs share: arguments, stopwatch, medians and the size of a database.

Runs in the peers' interpreter; standard library only.
"""

import argparse
import sqlite3
import statistics
import time
from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from conversation import Message

LOADS = 3
"""How often the whole conversation is loaded; the median counts."""

LAST_TURNS = 100
"""How many of the last turns count as the end of the conversation."""

_SYNCHRONOUS = ("OFF", "NORMAL", "FULL", "EXTRA")


@dataclass(frozen=True, slots=True)
class Task:
    """The task of a program: what it must measure."""

    store: str
    messages: int
    database: Path

    @property
    def file(self) -> Path:
        """The database file, alone in its directory."""
        return self.database / "conversation.db"


def parse_task(description: str, stores: Sequence[str]) -> Task:
    """The task on the command line; the first of `stores` is the default."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--store", choices=stores, default=stores[0])
    parser.add_argument("--messages", type=int, default=10_000)
    parser.add_argument("--database", type=Path, required=True, help="an empty directory")
    arguments = parser.parse_args()
    return Task(arguments.store, arguments.messages, arguments.database)


@contextmanager
def stopwatch(times: list[float]) -> Generator[None]:
    """Adds the milliseconds that the block took to `times`."""
    started = time.perf_counter_ns()
    yield
    times.append((time.perf_counter_ns() - started) / 1e6)


def p50(times: Sequence[float]) -> float:
    """The median, to a microsecond."""
    return round(statistics.median(times), 3)


def settled_bytes(file: Path) -> int:
    """The size of a database after a checkpoint of its write-ahead log."""
    with closing(sqlite3.connect(file)) as connection:
        busy, *_ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    if busy:
        raise RuntimeError(f"{file.name} is still in use, so its size is not known.")
    return sum(part.stat().st_size for part in file.parent.glob(f"{file.name}*"))


def durability(file: Path) -> str:
    """The journal mode and the synchronous level that a connection to `file` has by default.

    No peer sets the synchronous level, so a bare connection of the same library has the same one.
    """
    with closing(sqlite3.connect(file)) as connection:
        (journal,) = connection.execute("PRAGMA journal_mode").fetchone()
        (synchronous,) = connection.execute("PRAGMA synchronous").fetchone()
    return f"{journal.upper()}, {_SYNCHRONOUS[synchronous]}"


def require_same(messages: Sequence[Message], texts: Sequence[str]) -> None:
    """Raises if a store did not return the messages that it was given."""
    if [message.text for message in messages] != list(texts):
        raise RuntimeError(f"Of {len(messages)} messages the store gave back {len(texts)} others.")
