"""An engine that closes gives its agents to the others, also if that is not possible at once."""

import asyncio
import threading
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from sapwood.core.ids import AgentId, Space
from tests.engine.another_worker import SPACE
from tests.engine.backends import SqliteBackend
from tests.engine.drive_recorder import DriveRecorder
from tests.engine.eventually import eventually

ADA = AgentId("ada")
THREAD = "sapwood-closed-worker"
REFUSE = "CREATE TRIGGER away BEFORE UPDATE ON bells BEGIN SELECT RAISE(ABORT, 'It is away.'); END"


@pytest.fixture
def backend(tmp_path: Path) -> SqliteBackend:
    """Workers beside a log that is not there."""
    return SqliteBackend(tmp_path, is_worker=True)


@pytest.fixture
async def successor(backend: SqliteBackend) -> AsyncGenerator[DriveRecorder]:
    """What another engine of this process drives, which runs until the end of the test."""
    engine, recorder = backend.engine(), DriveRecorder(hold=True)
    await engine.launch(recorder.drive)
    yield recorder
    await engine.close()


async def test_what_could_not_be_released_is_taken_over_when_the_database_is_back(
    backend: SqliteBackend, successor: DriveRecorder
) -> None:
    engine, recorder = backend.engine(), DriveRecorder(hold=True)
    await engine.launch(recorder.drive)
    await engine.wake(SPACE, ADA)
    await eventually(lambda: recorder.running["ada"])
    backend.execute(REFUSE)
    await engine.close()
    assert backend.count("workers") == 2
    backend.execute("DROP TRIGGER away")
    await eventually(lambda: successor.running["ada"], within=20)
    await eventually(lambda: backend.count("workers") == 1)
    assert backend.count("bells WHERE drive LIKE '%+%'") == 0  # no process has died


async def test_what_a_cancelled_close_leaves_is_taken_over_at_once(
    backend: SqliteBackend, successor: DriveRecorder
) -> None:
    engine = backend.engine()
    began, cancelled, may_end, ended = (asyncio.Event() for _ in range(4))

    async def drive(space: Space, agent: AgentId) -> None:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
            await may_end.wait()
            ended.set()

    await engine.launch(drive)
    await engine.wake(SPACE, ADA)
    await began.wait()
    closing = asyncio.ensure_future(engine.close())
    await cancelled.wait()
    closing.cancel()
    await asyncio.wait([closing])
    assert closing.cancelled()
    try:
        await eventually(lambda: successor.running["ada"], within=20)
        assert backend.count("workers") == 1
    finally:
        may_end.set()
        await ended.wait()


async def test_nothing_is_made_anew_for_a_log_that_was_deleted(backend: SqliteBackend) -> None:
    engine, recorder = backend.engine(), DriveRecorder(hold=True)
    await engine.launch(recorder.drive)
    await engine.wake(SPACE, ADA)
    await eventually(lambda: recorder.running["ada"])
    backend.execute(REFUSE)
    await engine.close()
    backend.forget()
    await eventually(lambda: not any(each.name == THREAD for each in threading.enumerate()))
    assert not backend.file.exists()
