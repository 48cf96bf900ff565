"""Where an engine stores its state: nowhere, in SQLite, in PostgreSQL, in a Temporal server."""

import sqlite3
import uuid
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from msgspec import structs

from sapwood.config.config_file import TemporalConfig
from sapwood.core.ids import Space
from sapwood.engine import DriveLimits, LocalEngine
from sapwood.engine.limits import Intervals
from sapwood.engine.process_engine import ProcessEngine
from sapwood.turns.scheduler import Engine
from sapwood_temporal import TemporalEngine
from tests.postgres_session import CUT, execute

FAST = Intervals(poll=0.1, retry_after=(0.01, 0.01), after_deaths=0.2)
"""Retries at once; what is alive and what is dead is judged as always."""


class Backend:
    """Makes engines that share what there is to share."""

    def engine(self, limits: DriveLimits | None = None, intervals: Intervals = FAST) -> Engine:
        """One more engine."""
        raise NotImplementedError


class LocalBackend(Backend):
    """Nothing is shared."""

    def engine(self, limits: DriveLimits | None = None, intervals: Intervals = FAST) -> Engine:
        return LocalEngine(limits, retry_after=intervals.retry_after)


class SharedBackend(Backend):
    """Everything is, by all who know the place."""

    @property
    def place(self) -> str:
        """Where other processes find it."""
        raise NotImplementedError

    @staticmethod
    def at(place: str) -> "SharedBackend":
        """The backend of this place."""
        if place.startswith("temporal "):
            _, address, queue = place.split()
            return TemporalBackend(address, queue)
        kind, _, address = place.partition(" ")
        is_worker = kind == "worker"
        if "://" in address:
            return PostgresBackend(address, is_worker=is_worker)
        return SqliteBackend(Path(address).parent, is_worker=is_worker)


class TemporalBackend(SharedBackend):
    """A task queue of its own on a Temporal server."""

    def __init__(self, address: str, queue: str = "", dead_after: float = 8.0) -> None:
        self._dead_after = dead_after
        queue = queue or f"test-{uuid.uuid4().hex[:12]}"
        self.config = TemporalConfig(address=address, task_queue=queue)

    @property
    def place(self) -> str:
        return f"temporal {self.config.address} {self.config.task_queue}"

    def engine(
        self, limits: DriveLimits | None = None, intervals: Intervals = FAST
    ) -> TemporalEngine:
        # Each drive sends heartbeats, and the development server takes few of them in a second.
        dead_after = max(self._dead_after, intervals.dead_after)
        fewer = structs.replace(intervals, heartbeat=dead_after / 4, dead_after=dead_after)
        return TemporalEngine(self.config, limits, intervals=fewer)


class DurableBackend(SharedBackend):
    """Wake requests beside the log of this address, of a worker or of a process."""

    def __init__(self, address: str, *, is_worker: bool) -> None:
        self.address = address
        self.is_worker = is_worker

    @property
    def place(self) -> str:
        return f"{'worker' if self.is_worker else 'process'} {self.address}"

    def engine(
        self,
        limits: DriveLimits | None = None,
        intervals: Intervals = FAST,
        serves: Callable[[Space], bool] | None = None,
    ) -> Engine:
        return ProcessEngine(
            self.address, limits, intervals=intervals, serves=serves, is_worker=self.is_worker
        )

    def execute(self, statement: str) -> None:
        """Changes the engine's database behind its back."""
        raise NotImplementedError

    def count(self, table: str) -> int:
        """The rows of a table in the engine's database."""
        raise NotImplementedError

    def forget(self) -> None:
        """Deletes the engine's database."""
        raise NotImplementedError


class SqliteBackend(DurableBackend):
    """A file beside the log."""

    def __init__(self, folder: Path, *, is_worker: bool) -> None:
        super().__init__(str(folder / "log.db"), is_worker=is_worker)
        self.file = folder / "log.engine.db"

    def execute(self, statement: str) -> None:
        with closing(sqlite3.connect(self.file, timeout=30)) as connection, connection:
            connection.execute(statement)

    def count(self, table: str) -> int:
        with closing(sqlite3.connect(self.file, timeout=30)) as connection:
            (rows,) = connection.execute(f"SELECT count(*) FROM {table}").fetchone()
        return rows

    def forget(self) -> None:
        for part in self.file.parent.glob(f"{self.file.name}*"):
            part.unlink()


class PostgresBackend(DurableBackend):
    """A schema beside the log's."""

    def __init__(self, dsn: str, *, is_worker: bool) -> None:
        super().__init__(dsn, is_worker=is_worker)

    def execute(self, statement: str) -> None:
        execute(f"{self.address}?search_path=sapwood_engine", statement)

    def count(self, table: str) -> int:
        return execute(self.address, f"SELECT count(*) FROM sapwood_engine.{table}")[0][0]

    def forget(self) -> None:
        execute(self.address, "DROP SCHEMA IF EXISTS sapwood_engine CASCADE")

    def clear(self) -> None:
        """Empties the tables of a test before: cheaper than to make them again."""
        rows = execute(
            self.address, "SELECT tablename FROM pg_tables WHERE schemaname = 'sapwood_engine'"
        )
        if tables := ", ".join(f"sapwood_engine.{name}" for (name,) in rows):
            execute(self.address, f"TRUNCATE {tables}")

    def cut(self) -> None:
        """Cuts every other session of the database."""
        execute(self.address, CUT)
