"""The status of the durable engine is read from its tables, of either database."""

import secrets
from pathlib import Path

import pytest

from sapwood.core.ids import AgentId, Space
from sapwood.engine.process_engine import ProcessEngine
from sapwood.engine.workers import WorkerSeen, read_engine_status


@pytest.fixture(params=["sqlite", "postgres"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "team.db")
    return str(request.getfixturevalue("postgres_dsn"))


async def test_wakes_wait_until_a_worker_takes_them(address: str) -> None:
    space = Space(f"status-{secrets.token_hex(4)}")
    engine = ProcessEngine(address)
    try:
        for name in ("a", "b"):
            await engine.wake(space, AgentId(name))
        status = await read_engine_status(address)
    finally:
        await engine.close()
    [queued] = [each for each in status.queued if each.space == space]
    assert (queued.worker, queued.agents) == ("", 2)


async def test_a_database_without_an_engine_has_no_workers(tmp_path: Path) -> None:
    status = await read_engine_status(str(tmp_path / "none.db"))
    assert (status.workers, status.queued) == ((), ())


def test_a_worker_is_named_by_machine_and_process() -> None:
    seen = WorkerSeen("db-host-1-9f2c-4711-abcdef", 3)
    assert (seen.host, seen.process) == ("db-host-1", "4711")
