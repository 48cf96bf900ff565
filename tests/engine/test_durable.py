"""What outlives a process: agents go on elsewhere, each with one worker at a time."""

import asyncio
import threading
import time
from pathlib import Path

import pytest
from msgspec import structs

from sapwood.core.ids import AgentId
from sapwood.engine import EngineError, wake_all
from sapwood.engine.dbos import DbosEngine, Pace
from sapwood.engine.dbos.bells import Bell
from sapwood.engine.dbos.transact import Transact
from tests.engine.another_worker import SPACE
from tests.engine.backends import FAST, DurableBackend, PostgresBackend
from tests.engine.conftest import OpenEngine, StartWorker
from tests.engine.listing import Listing, working
from tests.engine.recording import Recorder
from tests.engine.waiting import eventually
from tests.engine.witness import Witness

ADA, HELD = AgentId("ada"), AgentId("held")


async def test_three_processes_never_drive_an_agent_twice_at_once_and_lose_no_wake(
    start_worker: StartWorker, open_durable: OpenEngine, witness: Witness
) -> None:
    agents, storms, engine = 200, 1, open_durable()
    workers = [start_worker(name, storms, agents) for name in ("one", "two", "three")]
    for number in range(agents):
        witness.want(f"agent-{number}")
        await engine.wake(SPACE, AgentId(f"agent-{number}"))
    for worker in workers:
        await worker.weathered(within=120)
    await eventually(lambda: not witness.undone(), within=120)
    drives = witness.drives()
    assert witness.clashes() == []
    assert len({drive.worker for drive in drives}) == 3
    assert agents <= len(drives) <= agents * (storms * 3 + 1)


async def test_what_a_killed_worker_drove_goes_on_elsewhere_soon(
    start_worker: StartWorker, open_durable: OpenEngine, witness: Witness
) -> None:
    first = start_worker("first")
    await first.launched()
    await open_durable().wake(SPACE, HELD)
    await eventually(lambda: witness.drives(worker="first"))
    second = start_worker("second")
    await second.launched()
    killed = time.time()
    first.kill()
    await eventually(lambda: witness.drives(worker="second"))
    assert witness.drives(worker="second")[0].began - killed < 30  # five on a quiet machine
    witness.note("release")
    await eventually(lambda: witness.drives(worker="second")[0].how == "done")
    assert witness.clashes() == []


async def test_a_stopped_worker_loses_its_drives_and_notices_when_it_goes_on(
    start_worker: StartWorker, open_durable: OpenEngine, witness: Witness
) -> None:
    zombie, engine = start_worker("zombie"), open_durable()
    await zombie.launched()
    await engine.wake(SPACE, HELD)
    await eventually(lambda: witness.drives(worker="zombie"))
    heir = start_worker("heir")
    await heir.launched()
    zombie.stop()
    await eventually(lambda: witness.drives(worker="heir"))
    zombie.go_on()
    await eventually(lambda: witness.drives(worker="zombie")[0].how == "cancelled")
    assert witness.drives(worker="heir")[0].how == ""
    heir.terminate()  # the zombie is as good as any other again: the drive comes back to it
    await eventually(lambda: len(witness.drives(worker="zombie")) == 2)
    witness.note("release")
    await eventually(lambda: witness.drives(worker="zombie")[1].how == "done")
    assert witness.clashes() == []


async def test_what_a_closing_worker_drove_goes_on_elsewhere_at_once(
    start_worker: StartWorker, open_durable: OpenEngine, witness: Witness
) -> None:
    first = start_worker("first", dead_after=600)  # nobody is taken for dead in this test
    await first.launched()
    await open_durable(pace=structs.replace(FAST, dead_after=600)).wake(SPACE, HELD)
    await eventually(lambda: witness.drives(worker="first"))
    second = start_worker("second", dead_after=600)
    await second.launched()
    first.terminate()
    await eventually(lambda: witness.drives(worker="second"))
    assert witness.drives(worker="first")[0].how == "cancelled"
    assert first.wait() == 0
    assert witness.clashes() == []


async def test_a_wake_for_a_drive_that_is_cut_off_is_not_lost(
    start_worker: StartWorker, open_durable: OpenEngine, witness: Witness
) -> None:
    first, engine = start_worker("first"), open_durable()
    await first.launched()
    witness.want(HELD)
    await engine.wake(SPACE, HELD)
    await eventually(lambda: witness.drives(worker="first"))
    witness.want(HELD)
    await engine.wake(SPACE, HELD)
    first.kill()
    witness.note("release")
    start_worker("second")
    await eventually(lambda: not witness.undone())


async def test_what_is_left_by_a_judge_that_died_is_found(
    durable: DurableBackend, start_worker: StartWorker, open_durable: OpenEngine, witness: Witness
) -> None:
    first = start_worker("first")
    await first.launched()
    await open_durable().wake(SPACE, HELD)
    await eventually(lambda: witness.drives(worker="first"))
    first.kill()
    durable.execute("DELETE FROM workers")  # buried, but nobody took over
    start_worker("second")
    await eventually(lambda: witness.drives(worker="second"))


async def test_a_bell_that_nobody_looks_after_is_found(
    durable: DurableBackend, open_durable: OpenEngine
) -> None:
    engine, recorder = open_durable(), Recorder()
    await engine.launch(recorder.drive)
    durable.execute("INSERT INTO bells VALUES ('main', 'ada', 'lost', 'm', 'u', 1, NULL, NULL)")
    await eventually(lambda: recorder.done["ada"])


async def test_a_deleted_database_is_made_again_and_everybody_is_woken(
    durable: DurableBackend, start_worker: StartWorker, open_durable: OpenEngine, witness: Witness
) -> None:
    first = start_worker("first")
    await first.launched()
    await open_durable().wake(SPACE, HELD)
    await eventually(lambda: witness.drives(worker="first"))
    first.kill()
    durable.forget()
    start_worker("second")
    assert await wake_all(Listing({SPACE: [working(HELD)]}), open_durable(), [SPACE]) == 1
    await eventually(lambda: witness.drives(worker="second"))
    assert [drive.agent for drive in witness.drives(worker="second")] == [HELD]


async def test_what_is_finished_is_deleted_and_idle_agents_hold_nothing(
    durable: DurableBackend, open_durable: OpenEngine
) -> None:
    engine, recorder = open_durable(pace=Pace(poll=0.1, tidy=0.2, keep=0.0)), Recorder()
    await engine.launch(recorder.drive)
    for number in range(50):
        await engine.wake(SPACE, AgentId(f"agent-{number}"))
    await eventually(lambda: recorder.done.total() == 50)
    for table in ("bells", "workflow_status", "operation_outputs", "workflow_input"):
        await eventually(lambda table=table: durable.count(table) == 0)


async def test_nothing_is_left_of_a_worker_that_closed(
    durable: DurableBackend, open_durable: OpenEngine
) -> None:
    engine = open_durable()
    await engine.launch(Recorder().drive)
    assert durable.count("workers") == 1
    await engine.close()
    assert durable.count("workers") == 0


async def test_an_engine_can_be_launched_after_another_was_closed(open_durable: OpenEngine) -> None:
    for _ in range(2):
        engine, recorder = open_durable(), Recorder()
        await engine.launch(recorder.drive)
        await engine.wake(SPACE, ADA)
        await eventually(lambda recorder=recorder: recorder.done["ada"])
        await engine.close()


async def test_a_second_worker_in_one_process_is_told_so(open_durable: OpenEngine) -> None:
    engine, recorder = open_durable(), Recorder()
    await engine.launch(recorder.drive)
    with pytest.raises(EngineError, match="only one can be"):
        await open_durable().launch(recorder.drive)
    await engine.wake(SPACE, ADA)
    await eventually(lambda: recorder.done["ada"])


async def test_a_caller_that_stops_waiting_for_a_wake_does_not_lose_it(
    open_durable: OpenEngine,
) -> None:
    engine, recorder = open_durable(), Recorder()
    await engine.launch(recorder.drive)
    for _ in range(20):
        waking = asyncio.create_task(engine.wake(SPACE, ADA))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        waking.cancel()
    await engine.wake(SPACE, ADA)
    await eventually(lambda: recorder.done["ada"])


async def test_a_drive_does_not_wait_until_it_is_recorded(
    open_durable: OpenEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, recorder = open_durable(), Recorder()
    record, may_record = Transact.start, threading.Event()

    async def late(transact: Transact, bell: Bell) -> None:
        await asyncio.to_thread(may_record.wait)
        await record(transact, bell)

    monkeypatch.setattr(Transact, "start", late)
    await engine.launch(recorder.drive)
    waking = asyncio.create_task(engine.wake(SPACE, ADA))
    await eventually(lambda: recorder.done["ada"])
    assert not waking.done()
    may_record.set()
    await waking
    await engine.wake(SPACE, HELD)
    await eventually(lambda: recorder.done["held"])
    assert recorder.began["ada"] == 1


async def test_a_drive_that_cannot_be_recorded_is_done_all_the_same(
    durable: DurableBackend, open_durable: OpenEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, recorder = open_durable(), Recorder()

    async def broken(transact: Transact, bell: Bell) -> None:
        raise EngineError("out of order")

    monkeypatch.setattr(Transact, "start", broken)
    await engine.launch(recorder.drive)
    with pytest.raises(EngineError, match="out of order"):
        await engine.wake(SPACE, ADA)
    await eventually(lambda: recorder.done["ada"])
    await eventually(lambda: durable.count("bells") == 0)


async def test_a_drive_goes_on_when_its_connections_are_cut(engine_database: str) -> None:
    backend, recorder = PostgresBackend(engine_database), Recorder(hold=True)
    engine = backend.engine()
    await engine.launch(recorder.drive)
    await engine.wake(SPACE, ADA)
    await eventually(lambda: recorder.under_way["ada"])
    backend.cut()
    await engine.wake(SPACE, ADA)
    recorder.let_go()
    await eventually(lambda: recorder.done["ada"] == 2)
    assert recorder.cancelled == 0
    await engine.wake(SPACE, HELD)
    await eventually(lambda: recorder.done["held"])
    await engine.close()
    assert backend.count("bells") == 0


@pytest.mark.parametrize("address", [":memory:", "mysql://here/there"])
async def test_there_is_no_durable_engine_for_other_logs(address: str) -> None:
    with pytest.raises(EngineError, match="Use LocalEngine"):
        await DbosEngine(address).wake(SPACE, ADA)


async def test_a_database_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="could not be opened"):
        await DbosEngine("postgresql://nobody@127.0.0.1:1/none").wake(SPACE, ADA)
    with pytest.raises(EngineError, match="could not be opened"):
        await DbosEngine(tmp_path / "no" / "such" / "folder.db").wake(SPACE, ADA)
