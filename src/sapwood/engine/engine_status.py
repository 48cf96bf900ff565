"""Reads who works on what from the tables of the durable engine, without starting an engine.

It only reads, and imports no library of the engine, so that `sapwood top` starts at once.
"""

import asyncio
import sqlite3
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from sapwood.config.database_address import is_of_plugin
from sapwood.core.ids import Space
from sapwood.core.log_values import LogError
from sapwood.engine.wake_requests import SCHEMA, engine_file

_WORKERS = "SELECT worker, beats FROM {prefix}workers ORDER BY worker"
_QUEUES = (
    "SELECT space, coalesce(worker, ''), count(*) FROM {prefix}bells"
    " GROUP BY space, coalesce(worker, '') ORDER BY space"
)


class WorkerSeen(Struct, frozen=True):
    """A worker and its count of heartbeats. A count that stands still is a worker that died."""

    worker: str
    beats: int

    @property
    def host(self) -> str:
        """The name of its machine."""
        return self.worker.rsplit("-", 3)[0]

    @property
    def process(self) -> str:
        """The number of its process there."""
        return self.worker.split("-")[-2] if self.worker.count("-") > 1 else ""


class Queued(Struct, frozen=True):
    """How many agents of a space were woken: those of a worker are run, the others wait."""

    space: Space
    worker: str
    agents: int


class EngineStatus(Struct, frozen=True):
    """The workers and the queues; both are empty if no durable engine has run yet."""

    workers: tuple[WorkerSeen, ...] = ()
    queued: tuple[Queued, ...] = ()


async def read_engine_status(address: str) -> EngineStatus:
    """Reads the status at the address of a log. Raises `LogError` if it cannot be read."""
    if address == ":memory:" or is_of_plugin(address):
        return EngineStatus()
    if "://" in address:
        return await _read_postgres(address)
    return await asyncio.to_thread(_read_sqlite, Path(address))


def _read_sqlite(log: Path) -> EngineStatus:
    file = engine_file(log)
    if file is None or not file.exists():
        return EngineStatus()
    try:
        connection = sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True, timeout=5)
        try:
            workers = connection.execute(_WORKERS.format(prefix="")).fetchall()
            queued = connection.execute(_QUEUES.format(prefix="")).fetchall()
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise LogError(f"The engine's database {file} cannot be read: {error}.") from error
    return _status(workers, queued)


async def _read_postgres(dsn: str) -> EngineStatus:
    import asyncpg

    try:
        connection = await asyncpg.connect(dsn, timeout=10)
    except (OSError, asyncpg.PostgresError) as error:
        raise LogError(f"The engine's database cannot be reached: {error}.") from error
    try:
        known = await connection.fetchval(f"SELECT to_regclass('{SCHEMA}.workers')")
        if known is None:
            return EngineStatus()
        workers = await connection.fetch(_WORKERS.format(prefix=f"{SCHEMA}."))
        queued = await connection.fetch(_QUEUES.format(prefix=f"{SCHEMA}."))
    except asyncpg.PostgresError as error:
        raise LogError(f"The engine's tables cannot be read: {error}.") from error
    finally:
        await connection.close()
    return _status([tuple(row) for row in workers], [tuple(row) for row in queued])


def _status(
    workers: Sequence[tuple[str, int]], queued: Sequence[tuple[str, str, int]]
) -> EngineStatus:
    return EngineStatus(
        tuple(WorkerSeen(*row) for row in workers),
        tuple(Queued(Space(space), worker, agents) for space, worker, agents in queued),
    )
