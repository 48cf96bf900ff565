"""What survives a process, for every engine of several processes: agents go on in another one."""

import sqlite3
import time
from contextlib import closing

import pytest
from msgspec import structs

from sapwood.core.ids import AgentId
from tests.engine.another_worker import SPACE
from tests.engine.backends import FAST, SharedBackend, SqliteBackend
from tests.engine.conftest import OpenEngine, StartWorker
from tests.engine.drive_journal import DriveJournal
from tests.engine.drive_recorder import DriveRecorder
from tests.engine.eventually import eventually

ADA, HELD, BLOCKS = AgentId("ada"), AgentId("held"), AgentId("blocks")


@pytest.mark.night
async def test_three_processes_never_drive_an_agent_twice_at_once_and_lose_no_wake(
    start_worker: StartWorker, open_shared: OpenEngine, journal: DriveJournal
) -> None:
    agents, storms, engine = 100, 1, open_shared()
    workers = [start_worker(name, storms, agents) for name in ("one", "two", "three")]
    for worker in workers:
        await worker.launched()
    for number in range(agents):
        journal.want(f"agent-{number}")
        await engine.wake(SPACE, AgentId(f"agent-{number}"))
    for worker in workers:
        await worker.weathered(within=120)
    await eventually(lambda: not journal.undone(), within=120)
    drives = journal.drives()
    assert journal.clashes() == []
    assert len({drive.worker for drive in drives}) == 3
    assert agents <= len(drives) <= agents * (storms * 3 + 1)


async def test_what_a_killed_worker_drove_goes_on_elsewhere_soon(
    start_worker: StartWorker, open_shared: OpenEngine, journal: DriveJournal
) -> None:
    first = start_worker("first")
    await first.launched()
    await open_shared().wake(SPACE, HELD)
    await eventually(lambda: journal.drives(worker="first"))
    second = start_worker("second")
    await second.launched()
    killed = time.time()
    first.kill()
    await eventually(lambda: journal.drives(worker="second"))
    assert journal.drives(worker="second")[0].began - killed < 40  # ten on a quiet machine
    journal.note("release")
    await eventually(lambda: journal.drives(worker="second")[0].how == "done")
    assert journal.clashes() == []


async def test_a_stopped_worker_loses_its_drives_and_notices_when_it_goes_on(
    start_worker: StartWorker, open_shared: OpenEngine, journal: DriveJournal
) -> None:
    stopped, engine = start_worker("stopped"), open_shared()
    await stopped.launched()
    await engine.wake(SPACE, HELD)
    await eventually(lambda: journal.drives(worker="stopped"))
    successor = start_worker("successor")
    await successor.launched()
    stopped.stop()
    await eventually(lambda: journal.drives(worker="successor"), within=120)
    stopped.go_on()
    await eventually(lambda: journal.drives(worker="stopped")[0].how == "cancelled")
    assert journal.drives(worker="successor")[0].how == ""
    successor.terminate()  # the stopped is as good as any other again: the drive comes back to it
    await eventually(lambda: len(journal.drives(worker="stopped")) == 2)
    journal.note("release")
    await eventually(lambda: journal.drives(worker="stopped")[1].how == "done")
    assert journal.clashes() == []


def _beats(shared: SharedBackend) -> list[int]:
    """How often each worker has beaten."""
    assert isinstance(shared, SqliteBackend)
    with closing(sqlite3.connect(shared.file, timeout=30)) as connection:
        return [row[0] for row in connection.execute("SELECT beats FROM workers")]


@pytest.mark.night
@pytest.mark.parametrize("shared", ["worker-sqlite"], indirect=True)
async def test_a_process_that_is_only_busy_keeps_its_drives(
    start_worker: StartWorker,
    open_shared: OpenEngine,
    shared: SharedBackend,
    journal: DriveJournal,
) -> None:
    """A screen that imports for seconds does not beat, and may be in the middle of a model call."""
    engine = open_shared()
    busy = start_worker("busy")
    await busy.launched()
    await engine.wake(SPACE, BLOCKS)
    await eventually(lambda: journal.drives(worker="busy"))
    other = start_worker("other")
    await other.launched()
    enough = 4 * FAST.dead_after / FAST.heartbeat
    await eventually(lambda: max(_beats(shared)) > enough, within=120)
    journal.note("release")
    await eventually(lambda: journal.drives(worker="busy")[0].how == "done")
    assert [drive.worker for drive in journal.drives() if drive.agent == BLOCKS] == ["busy"]
    assert journal.clashes() == []


async def test_what_a_closing_worker_drove_goes_on_elsewhere_at_once(
    start_worker: StartWorker, open_shared: OpenEngine, journal: DriveJournal
) -> None:
    first = start_worker("first", dead_after=600)  # nobody is taken for dead in this test
    await first.launched()
    await open_shared(intervals=structs.replace(FAST, dead_after=600)).wake(SPACE, HELD)
    await eventually(lambda: journal.drives(worker="first"))
    second = start_worker("second", dead_after=600)
    await second.launched()
    first.terminate()
    await eventually(lambda: journal.drives(worker="second"))
    assert journal.drives(worker="first")[0].how == "cancelled"
    assert first.wait() == 0
    assert journal.clashes() == []


async def test_a_wake_for_a_drive_that_is_cut_off_is_not_lost(
    start_worker: StartWorker, open_shared: OpenEngine, journal: DriveJournal
) -> None:
    first, engine = start_worker("first"), open_shared()
    await first.launched()
    journal.want(HELD)
    await engine.wake(SPACE, HELD)
    await eventually(lambda: journal.drives(worker="first"))
    journal.want(HELD)
    await engine.wake(SPACE, HELD)
    first.kill()
    journal.note("release")
    start_worker("second")
    await eventually(lambda: not journal.undone())


async def test_a_delayed_wake_outlives_the_process_that_asked_for_it(
    start_worker: StartWorker, open_shared: OpenEngine, journal: DriveJournal
) -> None:
    asking = open_shared()
    await asking.wake(SPACE, ADA, delay=1.0)
    await asking.close()
    start_worker("first")
    await eventually(lambda: journal.drives(worker="first"))
    assert journal.clashes() == []


async def test_an_engine_can_be_launched_after_another_was_closed(open_shared: OpenEngine) -> None:
    for _ in range(2):
        engine, recorder = open_shared(), DriveRecorder()
        await engine.launch(recorder.drive)
        await engine.wake(SPACE, ADA)
        await eventually(lambda recorder=recorder: recorder.done["ada"])
        await engine.close()
