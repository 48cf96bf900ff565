"""Processes that drive agents themselves, beside each other and beside workers."""

import random
from collections.abc import AsyncGenerator

import pytest

from sapwood.core.ids import AgentId
from tests.engine.another_worker import SPACE, AnotherWorker
from tests.engine.backends import DurableBackend, SharedBackend
from tests.engine.conftest import StartWorker
from tests.engine.drive_journal import DriveJournal
from tests.engine.drive_recorder import DriveRecorder
from tests.engine.eventually import eventually

HELD = AgentId("held")


@pytest.fixture
async def start_kind(durable: DurableBackend, journal: DriveJournal) -> AsyncGenerator[StartWorker]:
    """Starts a process of the kind that its name says, on one database for all."""
    started: list[AnotherWorker] = []

    def start(kind: str) -> AnotherWorker:
        backend = SharedBackend.at(f"{kind} {durable.address}")
        started.append(AnotherWorker(backend, journal, kind, 0, 0))
        return started[-1]

    yield start
    journal.note("release")
    for each in started:
        each.terminate()
    assert {each.wait() for each in started} <= {0, -9}
    assert [each.errors for each in started if each.errors] == []


@pytest.mark.parametrize(("first", "second"), [("process", "worker"), ("worker", "process")])
async def test_a_worker_continues_what_a_killed_process_drove_and_the_other_way_round(
    first: str, second: str, durable: DurableBackend, start_kind: StartWorker, journal: DriveJournal
) -> None:
    dies = start_kind(first)
    await dies.launched()
    waking = SharedBackend.at(f"process {durable.address}").engine()
    await waking.wake(SPACE, HELD)
    await eventually(lambda: journal.drives(worker=first))
    await start_kind(second).launched()
    await waking.wake(SPACE, HELD)  # the one that drives it drives it once more, later
    await waking.close()
    assert journal.drives(worker=second) == []
    dies.kill()
    await eventually(lambda: journal.drives(worker=second))
    journal.note("release")
    await eventually(lambda: journal.drives(worker=second)[0].how == "done")
    assert journal.clashes() == []


async def test_an_agent_that_a_worker_drives_is_not_driven_by_a_process(
    durable: DurableBackend, start_kind: StartWorker, journal: DriveJournal
) -> None:
    await start_kind("worker").launched()
    engine, recorder = SharedBackend.at(f"process {durable.address}").engine(), DriveRecorder()
    await engine.launch(recorder.drive)
    await engine.wake(SPACE, AgentId("own"))
    await eventually(lambda: recorder.done["own"] == 1)
    waking = durable.engine()
    await waking.wake(SPACE, HELD)
    await eventually(lambda: journal.drives(worker="worker"))
    await engine.wake(SPACE, HELD)
    journal.note("release")
    await eventually(lambda: len(journal.drives(worker="worker")) == 2)
    await waking.close()
    await engine.close()
    assert recorder.began[HELD] == 0


@pytest.mark.night
@pytest.mark.parametrize("shared", ["process-sqlite", "process-postgres"], indirect=True)
async def test_processes_that_are_killed_at_random_lose_nothing_and_double_nothing(
    shared: SharedBackend, start_worker: StartWorker, journal: DriveJournal
) -> None:
    chance, agents, engine = random.Random(7), 60, shared.engine()
    workers = [start_worker(f"{place}-0") for place in range(3)]
    for life in range(1, 4):
        for place, worker in enumerate(workers):
            await worker.launched()
            for number in chance.sample(range(agents), agents):
                journal.want(f"agent-{number}")
                await engine.wake(SPACE, AgentId(f"agent-{number}"))
            worker.kill()
            workers[place] = start_worker(f"{place}-{life}")
    await eventually(lambda: not journal.undone(), within=120)
    await engine.close()
    assert journal.clashes() == []
