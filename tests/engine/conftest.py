"""Engines of every kind, a journal of drives, and workers in other processes."""

import itertools
from collections.abc import AsyncGenerator, Callable, Generator
from pathlib import Path

import pytest

from sapwood.engine import DriveLimits
from sapwood.engine.limits import Intervals
from sapwood.turns.scheduler import Engine
from tests.engine.another_worker import AnotherWorker
from tests.engine.backends import (
    FAST,
    Backend,
    DurableBackend,
    LocalBackend,
    PostgresBackend,
    SharedBackend,
    SqliteBackend,
    TemporalBackend,
)
from tests.engine.drive_journal import DriveJournal
from tests.postgres_session import new_database

_numbers = itertools.count(1)
# The check of a change has what most people run: a process on SQLite, workers on PostgreSQL.
_WORKERS = [pytest.param("worker-sqlite", marks=pytest.mark.night), "worker-postgres"]
_DURABLE = [*_WORKERS, "process-sqlite", pytest.param("process-postgres", marks=pytest.mark.night)]
_TEMPORAL = pytest.param("temporal", marks=pytest.mark.night)
# Several processes of one engine, some of them killed: each test takes seconds.
_SHARED = [
    "process-sqlite",
    *(
        pytest.param(kind, marks=pytest.mark.night)
        for kind in ("worker-sqlite", "worker-postgres", "process-postgres", "temporal")
    ),
]

OpenEngine = Callable[..., Engine]
StartWorker = Callable[..., AnotherWorker]


@pytest.fixture(scope="module")
def engine_database(postgres_dsn: str, postgres_template: str) -> Generator[str]:
    """A database for the tests of one module, dropped after them."""
    with new_database(postgres_dsn, postgres_template) as address:
        yield address


def _durable(kind: str, request: pytest.FixtureRequest, folder: Path) -> DurableBackend:
    of, _, database = kind.partition("-")
    if database == "sqlite":
        return SqliteBackend(folder, is_worker=of == "worker")
    address = request.getfixturevalue("engine_database")
    backend = PostgresBackend(address, is_worker=of == "worker")
    backend.clear()
    return backend


@pytest.fixture(params=["local", *_DURABLE, _TEMPORAL])
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Backend:
    """Each kind of engine in turn."""
    if request.param == "local":
        return LocalBackend()
    if request.param == "temporal":  # no worker dies, and hundreds of drives send heartbeats
        return TemporalBackend(request.getfixturevalue("temporal_address"), dead_after=60)
    return _durable(request.param, request, tmp_path)


@pytest.fixture(params=_WORKERS)
def durable(request: pytest.FixtureRequest, tmp_path: Path) -> DurableBackend:
    """Workers on each database."""
    return _durable(request.param, request, tmp_path)


@pytest.fixture(params=_DURABLE)
def by_rows(request: pytest.FixtureRequest, tmp_path: Path) -> DurableBackend:
    """Workers and processes on each database."""
    return _durable(request.param, request, tmp_path)


@pytest.fixture(params=_SHARED)
def shared(request: pytest.FixtureRequest, tmp_path: Path) -> SharedBackend:
    """Each kind of engine that outlives its process."""
    if request.param == "temporal":
        return TemporalBackend(request.getfixturevalue("temporal_address"))
    return _durable(request.param, request, tmp_path)


async def _engines(backend: Backend) -> AsyncGenerator[OpenEngine]:
    opened: list[Engine] = []

    def open_one(limits: DriveLimits | None = None, intervals: Intervals = FAST) -> Engine:
        opened.append(backend.engine(limits, intervals))
        return opened[-1]

    yield open_one
    for engine in opened:
        await engine.close()


@pytest.fixture
async def open_engine(backend: Backend) -> AsyncGenerator[OpenEngine]:
    """Makes engines of one kind; all are closed afterwards."""
    async for opening in _engines(backend):
        yield opening


@pytest.fixture
async def open_durable(durable: DurableBackend) -> AsyncGenerator[OpenEngine]:
    """Makes engines of workers; all are closed afterwards."""
    async for opening in _engines(durable):
        yield opening


@pytest.fixture
async def open_shared(shared: SharedBackend) -> AsyncGenerator[OpenEngine]:
    """Makes engines of several processes; all are closed afterwards."""
    async for opening in _engines(shared):
        yield opening


@pytest.fixture
def journal(tmp_path: Path) -> Generator[DriveJournal]:
    """Records what is driven, in all processes."""
    journal = DriveJournal(tmp_path / "journal.db")
    yield journal
    journal.close()


@pytest.fixture
async def start_worker(shared: SharedBackend, journal: DriveJournal) -> AsyncGenerator[StartWorker]:
    """Starts workers in processes of their own. At the end they close, and wrote nothing."""
    workers: list[AnotherWorker] = []

    def start(name: str, storm: int = 0, agents: int = 0, **more: float) -> AnotherWorker:
        workers.append(AnotherWorker(shared, journal, name, storm, agents, **more))
        return workers[-1]

    yield start
    journal.note("release")
    for worker in workers:
        worker.go_on()
        worker.terminate()
    for worker in workers:
        worker.wait()
    assert [worker.errors for worker in workers if worker.errors] == []
