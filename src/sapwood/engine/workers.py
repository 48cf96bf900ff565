"""Workers: their ids, their heartbeats in the database, and how a dead one is recognised.

Each worker raises the count in its own row. A row whose count stands still belongs to a dead
worker, unless the process can be seen to run on this machine. Every worker measures that with its
own clock, so no two clocks are compared.

Reads who works on what from the tables of the engine, without starting an engine.

It only reads, and imports no engine, so that `sapwood top` starts at once.
"""

import asyncio
import hashlib
import os
import socket
import sqlite3
import uuid
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from time import monotonic

from msgspec import Struct

from sapwood.config.database_address import is_of_plugin, split_pooler
from sapwood.core.ids import Space
from sapwood.core.log_values import LogError
from sapwood.engine.wake_requests import SCHEMA, drive_age, engine_file

_OF_ONE_PROCESS = "p"
"""Begins the last part of the id of a process that is no worker. Random numbers have no `p`."""


def new_worker_id(*, of_one_process: bool = False) -> str:
    """A unique id that shows where the worker runs.

    Its parts are the host, the machine start, the process number, and a random number with the
    moment at which the process started. `of_one_process` is for a process that is no worker.
    """
    pid, (_, started) = os.getpid(), _process_status(os.getpid())
    kind = _OF_ONE_PROCESS if of_one_process else ""
    name = f"{kind}{uuid.uuid4().hex[:12]}s{started}"
    return f"{socket.gethostname()}-{_process_namespace()}-{pid}-{name}"


def is_of_one_process(worker: str) -> bool:
    """Whether it is a process that drives its own agents, and no worker."""
    return worker.rpartition("-")[2].startswith(_OF_ONE_PROCESS)


def process_has_ended(worker: str) -> bool:
    """True if the worker was a process of this machine that no longer exists.

    False proves nothing: the worker may be on another machine, or its process number may be in use
    again.
    """
    *_, namespace, pid, _ = worker.split("-")
    is_here = bool(namespace) and namespace == _process_namespace()
    return is_here and not Path("/proc", pid).exists()


def process_is_running(worker: str) -> bool:
    """True if the worker is a process of this machine that exists and is not stopped.

    Such a worker is only slow when it does not beat: nobody may take its drives, because it may be
    in the middle of a model call. False proves nothing.
    """
    *_, namespace, pid, name = worker.split("-")
    _, _, started = name.partition("s")
    if not started or not namespace or namespace != _process_namespace():
        return False
    state, since = _process_status(int(pid))
    return since == started and state not in ("", "T", "t", "X", "Z")


def _process_status(pid: int) -> tuple[str, str]:
    """The state of a process and the moment of its start; empty if they cannot be read."""
    try:
        fields = Path("/proc", str(pid), "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return "", ""
    return fields[0], fields[19]


@cache
def _process_namespace() -> str:
    """Identifies the process numbers of this machine since its start, or of this container."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        numbers = os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""
    return hashlib.blake2b(f"{boot} {numbers}".encode(), digest_size=6).hexdigest()


class _Sighting(Struct):
    """How often a worker was seen with the same count, and since when."""

    beats: int
    since: float
    times: int = 1


class FailureDetector:
    """Finds dead workers from the counts that it saw at each of its own heartbeats.

    A long time alone is no proof: after a pause of its own process, or of the database, no count
    has moved. So it wants several sightings in a row.
    """

    def __init__(self, dead_after: float, beat: float) -> None:
        self._dead_after = dead_after
        self._times = max(2, round(dead_after / beat) // 2 + 1)
        self._seen: dict[str, _Sighting] = {}
        self._looked = 0.0

    def dead(self, beats: dict[str, int], now: float | None = None) -> dict[str, int]:
        """The workers among `beats` that are dead, each with its last count."""
        now = monotonic() if now is None else now
        if now - self._looked > self._dead_after / 2:
            self.start_over()  # this process itself was paused
        self._looked = now
        self._seen = {worker: self._sighting(worker, count, now) for worker, count in beats.items()}
        return {
            worker: seen.beats
            for worker, seen in self._seen.items()
            if seen.times >= self._times and now - seen.since >= self._dead_after
        }

    def start_over(self) -> None:
        """Forgets all sightings."""
        self._seen.clear()

    def _sighting(self, worker: str, count: int, now: float) -> _Sighting:
        seen = self._seen.get(worker)
        if seen is None or seen.beats != count:
            return _Sighting(count, now)
        seen.times += 1
        return seen


_WORKERS = "SELECT worker, beats FROM {prefix}workers ORDER BY worker"
_QUEUES = (
    "SELECT space, coalesce(worker, ''), count(*), min(drive) FROM {prefix}bells"
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


class QueueLength(Struct, frozen=True):
    """How many agents of a space were woken: those of a worker are run, the others wait.

    `seconds` is how long the first of them has been run, or has waited.
    """

    space: Space
    worker: str
    agents: int
    seconds: float = 0.0


class EngineStatus(Struct, frozen=True):
    """The workers and the queues; both are empty if no engine has run yet."""

    workers: tuple[WorkerSeen, ...] = ()
    queued: tuple[QueueLength, ...] = ()


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
        connection = await asyncpg.connect(split_pooler(dsn).sessions, timeout=10)
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
    workers: Sequence[tuple[str, int]], queued: Sequence[tuple[str, str, int, str]]
) -> EngineStatus:
    return EngineStatus(
        tuple(WorkerSeen(*row) for row in workers),
        tuple(
            QueueLength(Space(space), worker, agents, drive_age(oldest))
            for space, worker, agents, oldest in queued
        ),
    )
