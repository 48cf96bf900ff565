"""An agent whose drives end the process again and again is found, driven apart, and given up."""

import asyncio
from pathlib import Path

import pytest

import sapwood
from sapwood.app.engines import engine_for
from sapwood.config.config_file import Config
from sapwood.core.events import TurnFailed
from sapwood.core.ids import AgentId, Space
from sapwood.engine import DriveLimits
from sapwood.engine.limits import Intervals
from sapwood.engine.process_engine import ProcessEngine
from sapwood.engine.wake_database import open_wake_database
from sapwood.engine.wake_requests import WakeRequest, died_in, new_drive_id
from tests.engine.backends import FAST, SqliteBackend
from tests.engine.drive_recorder import DriveRecorder
from tests.engine.eventually import eventually

SPACE = Space("main")
RESTING = "bells WHERE worker IS NOT NULL AND holder IS NULL"
WAITING = "bells WHERE worker IS NULL"


def died(times: int) -> str:
    """The id of a drive after so many processes died in those before."""
    return new_drive_id("".join(f"+dead-{number}" for number in range(times)))


async def queue(log: Path, *agents: str, after: int) -> None:
    """Lets agents wait in whose drives so many processes have died."""
    database = await open_wake_database(log)
    for agent in agents:
        await database.wake(WakeRequest(SPACE, AgentId(agent), died(after)))
    await database.close()


async def test_a_death_is_noted_at_what_was_driven_and_not_at_what_waited(tmp_path: Path) -> None:
    backend, recorder = SqliteBackend(tmp_path, is_worker=True), DriveRecorder(hold=True)
    await queue(tmp_path / "log.db", "driven", "waits", after=1)
    engine = backend.engine(intervals=Intervals(poll=0.1, heartbeat=3600))
    database = await open_wake_database(tmp_path / "log.db")

    async def drive(space: Space, agent: AgentId) -> None:
        if agent == "waits":
            await engine.wake(space, agent, delay=3600)
        else:
            await recorder.drive(space, agent)

    try:
        await engine.launch(drive)
        await eventually(lambda: recorder.running["driven"])
        await eventually(lambda: backend.count(RESTING) == 1, within=10)
        [worker] = await database.workers()
        await database.remove_worker(worker)
        await database.release_orphans()
        waiting = await database.waiting(DriveLimits(), 10)
        dead = {each.agent: died_in(each.drive) for each in waiting}
        assert dead == {"driven": ["dead-0", worker], "waits": ["dead-0"]}
    finally:
        await database.close()
        await engine.close()


async def test_a_suspect_that_waited_is_not_driven_beside_another_one(tmp_path: Path) -> None:
    backend, recorder = SqliteBackend(tmp_path, is_worker=True), DriveRecorder(hold=True)
    engine, waits = backend.engine(), AgentId("waits")

    async def drive(space: Space, agent: AgentId) -> None:
        if agent == waits and not recorder.began["held"]:
            await engine.wake(space, agent, delay=3600)
        else:
            await recorder.drive(space, agent)

    await queue(tmp_path / "log.db", waits, after=2)
    await engine.launch(drive)
    try:
        await eventually(lambda: backend.count(RESTING) == 1, within=10)
        await queue(tmp_path / "log.db", "held", after=2)
        await eventually(lambda: recorder.running["held"])
        await engine.wake(SPACE, waits)
        await eventually(lambda: recorder.began[waits] or backend.count(WAITING))
        assert not recorder.began[waits]
        recorder.release()
        await eventually(lambda: recorder.done[waits])
        assert recorder.max_at_once == 1
    finally:
        await engine.close()


async def test_suspects_are_driven_one_at_a_time_and_others_beside_them(tmp_path: Path) -> None:
    backend = SqliteBackend(tmp_path, is_worker=True)
    await queue(tmp_path / "log.db", "a", "b", "c", after=2)
    await queue(tmp_path / "log.db", "x", "y", after=1)
    engine, recorder = backend.engine(), DriveRecorder(hold=True)
    await engine.launch(recorder.drive)
    try:
        await eventually(lambda: recorder.running.total() == 3)
        assert recorder.began["x"] == recorder.began["y"] == 1
        recorder.release()
        await eventually(lambda: recorder.done.total() == 5)
    finally:
        await engine.close()


async def test_a_suspect_waits_while_others_are_driven_and_one_to_give_up_does_not(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    await queue(tmp_path / "log.db", "suspect", after=2)
    await queue(tmp_path / "log.db", "deadly", after=4)
    await queue(tmp_path / "log.db", "other", after=1)
    given_up: list[AgentId] = []

    async def give_up(space: Space, agent: AgentId, deaths: int) -> None:
        given_up.append(agent)

    patient = Intervals(poll=0.1, after_deaths=3600)
    engine = ProcessEngine(tmp_path / "log.db", intervals=patient, give_up=give_up, is_worker=True)
    recorder = DriveRecorder()
    await engine.launch(recorder.drive)
    try:
        await eventually(lambda: recorder.done["other"] and given_up == ["deadly"])
    finally:
        await engine.close()
    assert not recorder.began["suspect"]
    assert [each.args for each in caplog.records if "may end" in each.message] == [("suspect", 2)]


async def test_a_process_that_was_only_slow_is_not_counted(tmp_path: Path) -> None:
    database = await open_wake_database(tmp_path / "log.db")
    await database.add_worker("slow-boot-1-ab12s3")
    drive = new_drive_id("+dead-0+dead-1+dead-2+slow-boot-1-ab12s3")
    await database.wake(WakeRequest(SPACE, AgentId("ada"), drive))
    await database.close()
    given_up: list[AgentId] = []

    async def give_up(space: Space, agent: AgentId, deaths: int) -> None:
        given_up.append(agent)

    engine = ProcessEngine(tmp_path / "log.db", intervals=FAST, give_up=give_up, is_worker=True)
    recorder = DriveRecorder()
    await engine.launch(recorder.drive)
    try:
        await eventually(lambda: recorder.done["ada"])
    finally:
        await engine.close()
    assert not given_up


async def test_without_a_limit_of_deaths_nobody_is_a_suspect_or_given_up(tmp_path: Path) -> None:
    agents = ("a", "b", "c")
    await queue(tmp_path / "log.db", *agents, after=7)
    given_up: list[AgentId] = []

    async def give_up(space: Space, agent: AgentId, deaths: int) -> None:
        given_up.append(agent)

    engine = ProcessEngine(
        *(tmp_path / "log.db", DriveLimits(deaths=None)),
        intervals=Intervals(poll=0.1, after_deaths=3600),
        give_up=give_up,
        is_worker=True,
    )
    recorder = DriveRecorder(hold=True)
    await engine.launch(recorder.drive)
    try:
        await eventually(lambda: recorder.running.total() == 3)
        recorder.release()
        await eventually(lambda: recorder.done.total() == 3)
    finally:
        await engine.close()
    assert not given_up


async def test_the_turn_of_a_deadly_agent_fails_and_says_why(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    address = str(tmp_path / "log.db")
    async with sapwood.open(address, space=SPACE) as db:
        agent = await db.start(model="den:oak")
        await agent.prompt("Hello.")
        await queue(tmp_path / "log.db", agent.id, after=4)
        engine = engine_for(Config(database=address), db.connection, for_workers=True)
        recorder = DriveRecorder()
        await engine.launch(recorder.drive)
        try:
            async with asyncio.timeout(30):
                async for each in agent.follow():
                    if isinstance(each.event, TurnFailed):
                        assert "4 processes that ran this turn died" in each.event.error
                        break
        finally:
            await engine.close()
        assert not recorder.began
        fields = [getattr(each, "fields", {}) for each in caplog.records]
        [ended] = [each for each in fields if each.get("event") == "turn.failed"]
        assert ended["agent"] == agent.id
        assert "4 processes" in ended["reason"]
        assert SqliteBackend(tmp_path, is_worker=True).count("bells") == 0
