"""Workers repair what others left in the database, and forget what is finished."""

import asyncio
from pathlib import Path

import pytest

from sapwood.core.ids import AgentId, Space
from sapwood.engine import EngineError, wake_all
from sapwood.engine.process_engine import ProcessEngine
from tests.engine.another_worker import SPACE
from tests.engine.backends import DurableBackend, PostgresBackend, SqliteBackend
from tests.engine.conftest import OpenEngine, StartWorker
from tests.engine.drive_journal import DriveJournal
from tests.engine.drive_recorder import DriveRecorder
from tests.engine.eventually import eventually
from tests.engine.fake_log import FakeLog, working

ADA, HELD = AgentId("ada"), AgentId("held")


@pytest.fixture
def shared(durable: DurableBackend) -> DurableBackend:
    """The other processes are workers too."""
    return durable


@pytest.mark.night
async def test_what_is_left_by_a_judge_that_died_is_found(
    durable: DurableBackend,
    start_worker: StartWorker,
    open_durable: OpenEngine,
    journal: DriveJournal,
) -> None:
    first = start_worker("first")
    await first.launched()
    await open_durable().wake(SPACE, HELD)
    await eventually(lambda: journal.drives(worker="first"))
    first.kill()
    durable.execute("DELETE FROM workers")  # buried, but nobody took over
    start_worker("second")
    await eventually(lambda: journal.drives(worker="second"))


async def test_a_request_that_an_earlier_version_queued_is_taken(
    durable: DurableBackend, open_durable: OpenEngine
) -> None:
    engine, recorder = open_durable(), DriveRecorder()
    await engine.launch(recorder.drive)
    durable.execute("INSERT INTO bells VALUES ('main', 'ada', 'lost', 'm', 'u', 1, NULL, NULL)")
    await eventually(lambda: recorder.done["ada"])


@pytest.mark.night
async def test_a_wake_of_later_is_not_lost_with_the_worker_that_keeps_it(
    durable: DurableBackend,
    start_worker: StartWorker,
    open_durable: OpenEngine,
    journal: DriveJournal,
) -> None:
    first, later = start_worker("first"), AgentId("later")
    await first.launched()
    await open_durable().wake(SPACE, later)
    await eventually(lambda: [each.how for each in journal.drives(worker="first")] == ["done"])
    await start_worker("second").launched()
    assert durable.count("bells") == 1
    first.kill()
    await eventually(lambda: journal.drives(worker="second"))  # it reads in the log when to wake


@pytest.mark.night
async def test_a_deleted_database_is_made_again_and_everybody_is_woken(
    durable: DurableBackend,
    start_worker: StartWorker,
    open_durable: OpenEngine,
    journal: DriveJournal,
) -> None:
    first = start_worker("first")
    await first.launched()
    await open_durable().wake(SPACE, HELD)
    await eventually(lambda: journal.drives(worker="first"))
    first.kill()
    durable.forget()
    start_worker("second")
    assert await wake_all(FakeLog({SPACE: [working(HELD)]}), open_durable(), [SPACE]) == 1
    await eventually(lambda: journal.drives(worker="second"))
    assert [drive.agent for drive in journal.drives(worker="second")] == [HELD]


async def test_what_is_finished_is_deleted_and_idle_agents_hold_nothing(
    durable: DurableBackend, open_durable: OpenEngine
) -> None:
    engine, recorder = open_durable(), DriveRecorder()
    await engine.launch(recorder.drive)
    for number in range(50):
        await engine.wake(SPACE, AgentId(f"agent-{number}"))
    await eventually(lambda: recorder.done.total() == 50)
    await eventually(lambda: durable.count("bells") == 0)


async def test_nothing_is_left_of_a_worker_that_closed(
    durable: DurableBackend, open_durable: OpenEngine
) -> None:
    engine = open_durable()
    await engine.launch(DriveRecorder().drive)
    assert durable.count("workers") == 1
    await engine.close()
    assert durable.count("workers") == 0


async def test_a_caller_that_stops_waiting_for_a_wake_does_not_lose_it(
    open_durable: OpenEngine,
) -> None:
    engine, recorder = open_durable(), DriveRecorder()
    await engine.launch(recorder.drive)
    for _ in range(20):
        waking = asyncio.create_task(engine.wake(SPACE, ADA))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        waking.cancel()
    await engine.wake(SPACE, ADA)
    await eventually(lambda: recorder.done["ada"])


async def test_an_agent_that_waits_is_continued_by_the_process_that_drove_it(
    tmp_path: Path,
) -> None:
    worker = SqliteBackend(tmp_path, is_worker=True).engine()
    process = SqliteBackend(tmp_path, is_worker=False).engine()
    driven, of_worker = list[str](), DriveRecorder()

    async def drive(space: Space, agent: AgentId) -> None:
        driven.append(agent)
        if len(driven) < 4:
            await process.wake(space, agent, delay=0.05)

    try:
        await worker.launch(of_worker.drive)
        await process.launch(drive)
        await process.wake(SPACE, ADA)
        await eventually(lambda: len(driven) == 4 or of_worker.began)
    finally:
        await process.close()
        await worker.close()
    assert not of_worker.began


async def test_a_drive_goes_on_when_its_connections_are_cut(engine_database: str) -> None:
    backend, recorder = PostgresBackend(engine_database, is_worker=True), DriveRecorder(hold=True)
    engine = backend.engine()
    await engine.launch(recorder.drive)
    await engine.wake(SPACE, ADA)
    await eventually(lambda: recorder.running["ada"])
    backend.cut()
    await engine.wake(SPACE, ADA)
    recorder.release()
    await eventually(lambda: recorder.done["ada"] == 2)
    assert recorder.cancelled == 0
    await engine.wake(SPACE, HELD)
    await eventually(lambda: recorder.done["held"])
    await engine.close()
    assert backend.count("bells") == 0


@pytest.mark.parametrize("address", [":memory:", "mysql://here/there"])
async def test_there_is_no_durable_engine_for_other_logs(address: str) -> None:
    with pytest.raises(EngineError, match="Use LocalEngine"):
        await ProcessEngine(address).wake(SPACE, ADA)


async def test_a_database_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="does not answer"):
        await ProcessEngine("postgresql://nobody@127.0.0.1:1/none").wake(SPACE, ADA)
    with pytest.raises(EngineError, match="could not be opened"):
        await ProcessEngine(tmp_path / "no" / "such" / "folder.db").wake(SPACE, ADA)
