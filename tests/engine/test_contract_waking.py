"""What waking an agent does, for every engine."""

import asyncio
import time

import pytest

from sapwood.core.errors import LogUnavailable
from sapwood.core.ids import AgentId, Space
from sapwood.engine import EngineError, drives
from tests.engine.backends import Backend
from tests.engine.conftest import OpenEngine
from tests.engine.drive_recorder import DriveRecorder
from tests.engine.eventually import eventually

SPACE = Space("main")
ADA, BOB = AgentId("ada"), AgentId("bob")


async def test_an_agent_that_is_woken_is_driven(open_engine: OpenEngine) -> None:
    engine, recorder = open_engine(), DriveRecorder()
    await engine.launch(recorder.drive)
    await engine.wake(SPACE, ADA)
    await eventually(lambda: recorder.done == {"ada": 1})


async def test_an_agent_can_be_woken_before_the_launch(open_engine: OpenEngine) -> None:
    engine, recorder = open_engine(), DriveRecorder()
    await engine.wake(SPACE, ADA)
    await engine.launch(recorder.drive)
    await eventually(lambda: recorder.done == {"ada": 1})


async def test_many_wakes_before_a_drive_are_one_drive(open_engine: OpenEngine) -> None:
    engine, recorder = open_engine(), DriveRecorder()
    for _ in range(5):
        await engine.wake(SPACE, ADA)
    await engine.launch(recorder.drive)
    await eventually(lambda: recorder.done["ada"] >= 1)
    await engine.wake(SPACE, BOB)  # comes after whatever else ada's wakes might have led to
    await eventually(lambda: recorder.done["bob"])
    assert recorder.began["ada"] == 1


async def test_wakes_during_a_drive_are_exactly_one_more(open_engine: OpenEngine) -> None:
    engine, recorder = open_engine(), DriveRecorder(hold=True)
    await engine.launch(recorder.drive)
    await engine.wake(SPACE, ADA)
    await eventually(lambda: recorder.running["ada"])
    for _ in range(5):
        await engine.wake(SPACE, ADA)
    recorder.release()
    await eventually(lambda: recorder.done["ada"] == 2)
    await engine.wake(SPACE, BOB)
    await eventually(lambda: recorder.done["bob"])
    assert recorder.began["ada"] == 2


async def test_an_agent_that_is_done_can_be_woken_again(open_engine: OpenEngine) -> None:
    engine, recorder = open_engine(), DriveRecorder()
    await engine.launch(recorder.drive)
    for times in range(1, 6):
        await engine.wake(SPACE, ADA)
        await eventually(lambda times=times: recorder.done["ada"] == times)


async def test_a_drive_may_wake_its_own_agent_and_others(open_engine: OpenEngine) -> None:
    engine, driven = open_engine(), list[str]()

    async def drive(space: Space, agent: AgentId) -> None:
        driven.append(agent)
        if driven == ["ada"]:
            await engine.wake(space, ADA)
            await engine.wake(space, BOB)

    await engine.launch(drive)
    await engine.wake(SPACE, ADA)
    await eventually(lambda: sorted(driven) == ["ada", "ada", "bob"])


async def test_no_wake_is_lost_whenever_it_comes(open_engine: OpenEngine) -> None:
    engine, wanted, done = open_engine(), dict[str, int](), dict[str, int]()

    async def drive(space: Space, agent: AgentId) -> None:
        seen = wanted[agent]
        await asyncio.sleep(0)
        done[agent] = seen

    await engine.launch(drive)
    for round_ in range(4):
        for number in range(20):
            wanted[f"agent-{number}"] = round_ * 20 + number
            await engine.wake(SPACE, AgentId(f"agent-{number}"))
    await eventually(lambda: done == wanted)


async def test_agents_of_two_spaces_are_not_the_same(open_engine: OpenEngine) -> None:
    engine, driven = open_engine(), set[tuple[str, str]]()

    async def drive(space: Space, agent: AgentId) -> None:
        driven.add((space, agent))
        await eventually(lambda: len(driven) == 2)  # so both are driven at once

    await engine.launch(drive)
    await engine.wake(Space("one"), ADA)
    await engine.wake(Space("two"), ADA)
    await eventually(lambda: driven == {("one", "ada"), ("two", "ada")})


async def test_hundreds_of_agents_are_driven_at_once(open_engine: OpenEngine) -> None:
    engine, recorder = open_engine(), DriveRecorder(hold=True)
    await engine.launch(recorder.drive)
    await asyncio.gather(*(engine.wake(SPACE, AgentId(f"agent-{n}")) for n in range(200)))
    await eventually(lambda: recorder.running.total() == 200)
    recorder.release()
    await eventually(lambda: recorder.done.total() == 200)


async def test_a_delayed_wake_comes_late_but_not_early(open_engine: OpenEngine) -> None:
    engine, recorder, started = open_engine(), DriveRecorder(), time.monotonic()
    await engine.launch(recorder.drive)
    await engine.wake(SPACE, ADA, delay=1.0)
    await eventually(lambda: recorder.done["ada"])
    assert time.monotonic() - started >= 1.0


async def test_a_delayed_wake_does_not_hold_up_another(open_engine: OpenEngine) -> None:
    engine, recorder = open_engine(), DriveRecorder()
    await engine.launch(recorder.drive)
    await engine.wake(SPACE, ADA, delay=3600)
    await engine.wake(SPACE, ADA)
    await eventually(lambda: recorder.done["ada"] == 1)


async def test_a_drive_may_have_its_agent_woken_later_again_and_again(
    open_engine: OpenEngine,
) -> None:
    engine, driven = open_engine(), list[AgentId]()

    async def drive(space: Space, agent: AgentId) -> None:
        driven.append(agent)
        if driven.count(agent) < 4:
            await engine.wake(space, agent, delay=0.01)

    await engine.launch(drive)
    for agent in (ADA, BOB):
        await engine.wake(SPACE, agent)
    await eventually(lambda: driven.count(ADA) == driven.count(BOB) == 4)


async def test_a_drive_that_fails_is_tried_again(open_engine: OpenEngine) -> None:
    engine, tries = open_engine(), list[str]()

    async def drive(space: Space, agent: AgentId) -> None:
        tries.append(agent)
        if len(tries) < 3:
            raise RuntimeError("not yet")

    await engine.launch(drive)
    await engine.wake(SPACE, ADA)
    await eventually(lambda: len(tries) == 3)


async def test_a_drive_that_always_fails_waits_to_be_woken_again(
    open_engine: OpenEngine, caplog: pytest.LogCaptureFixture
) -> None:
    engine, tries = open_engine(), list[str]()

    async def drive(space: Space, agent: AgentId) -> None:
        tries.append(agent)
        raise asyncio.CancelledError if len(tries) % 2 else RuntimeError("never")

    await engine.launch(drive)
    await engine.wake(SPACE, ADA)
    await eventually(lambda: "waits until it is woken again" in caplog.text)
    assert len(tries) == 3
    await engine.wake(SPACE, ADA)
    await eventually(lambda: len(tries) == 6)


async def test_a_closed_engine_says_so(open_engine: OpenEngine) -> None:
    engine = open_engine()
    await engine.launch(DriveRecorder().drive)
    await engine.close()
    with pytest.raises(EngineError, match="closed"):
        await engine.wake(SPACE, ADA)


async def test_closing_ends_the_drives_and_twice_is_once(open_engine: OpenEngine) -> None:
    engine, recorder = open_engine(), DriveRecorder(hold=True)
    await engine.launch(recorder.drive)
    await engine.wake(SPACE, ADA)
    await eventually(lambda: recorder.running["ada"])
    await engine.close()
    await engine.close()
    assert (recorder.cancelled, recorder.running.total()) == (1, 0)


async def test_an_engine_that_never_launched_closes(backend: Backend) -> None:
    engine = backend.engine()
    await engine.wake(SPACE, ADA)
    await engine.close()


async def test_a_log_that_is_away_is_tried_for_as_long_as_that_lasts(
    open_engine: OpenEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drives, "LOG_RETRY_SECONDS", 0.01)
    engine, tries = open_engine(), list[str]()

    async def drive(space: Space, agent: AgentId) -> None:
        tries.append(agent)
        if len(tries) < 12:
            raise LogUnavailable("The server is away.")

    await engine.launch(drive)
    await engine.wake(SPACE, ADA)
    await eventually(lambda: len(tries) == 12)
