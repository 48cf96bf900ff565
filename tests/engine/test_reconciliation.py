"""Every agent with work to do is woken, and no other."""

import asyncio
from contextlib import suppress

import pytest

from sapwood.core.ids import Space
from sapwood.engine import LocalEngine, keep_awake, wake_all
from tests.engine.drive_recorder import DriveRecorder
from tests.engine.eventually import eventually
from tests.engine.fake_log import FakeLog, working

SPACE, OTHER = Space("main"), Space("other")


async def test_agents_with_work_to_do_are_woken() -> None:
    engine, recorder = LocalEngine(), DriveRecorder()
    await engine.launch(recorder.drive)
    log = FakeLog({SPACE: [working("ada")], OTHER: []})
    assert await wake_all(log, engine, [SPACE, OTHER]) == 1
    await eventually(lambda: recorder.done == {"ada": 1})


async def test_all_pages_are_read() -> None:
    engine, recorder = LocalEngine(), DriveRecorder()
    await engine.launch(recorder.drive)
    log = FakeLog({SPACE: [working(f"agent-{number}") for number in range(1001)]})
    assert await wake_all(log, engine, [SPACE]) == 1001
    await eventually(lambda: recorder.done.total() == 1001)


async def test_a_space_that_cannot_be_read_does_not_keep_others_waiting(
    caplog: pytest.LogCaptureFixture,
) -> None:
    engine, recorder = LocalEngine(), DriveRecorder()
    await engine.launch(recorder.drive)
    log = FakeLog({OTHER: [working("ada")]})
    log.closed.add(SPACE)
    assert await wake_all(log, engine, [SPACE, OTHER]) == 1
    await eventually(lambda: recorder.done == {"ada": 1})
    assert "the space main could not be woken: There is no key." in caplog.text


async def test_it_is_done_now_and_again_and_survives_a_log_that_is_away(
    caplog: pytest.LogCaptureFixture,
) -> None:
    engine, recorder = LocalEngine(), DriveRecorder()
    log = FakeLog({SPACE: [working("ada")]})
    log.away = True
    await engine.launch(recorder.drive)
    keeping = asyncio.create_task(keep_awake(log, engine, [SPACE], every=0.01))
    await eventually(lambda: "The log is away." in caplog.text)
    log.away = False
    await eventually(lambda: recorder.done["ada"] >= 2)
    keeping.cancel()
    with suppress(asyncio.CancelledError):
        await keeping
