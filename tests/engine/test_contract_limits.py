"""Limits on drives per worker, model and user, for every engine."""

import asyncio
from collections import Counter
from pathlib import Path

from sapwood.core.ids import AgentId, Space
from sapwood.engine import DriveLimits
from sapwood.turns.scheduler import Engine
from tests.engine.backends import SqliteBackend
from tests.engine.conftest import OpenEngine
from tests.engine.drive_recorder import DriveRecorder
from tests.engine.eventually import eventually

SPACE = Space("main")
RESTING = "bells WHERE worker IS NOT NULL AND holder IS NULL"


async def woken(engine: Engine, agents: dict[str, tuple[str, str]]) -> None:
    """Wakes agents by name, each with a model and a user."""
    wakes = (
        engine.wake(SPACE, AgentId(agent), model=model, user=user)
        for agent, (model, user) in agents.items()
    )
    await asyncio.gather(*wakes)


def under_way(recorder: DriveRecorder) -> list[str]:
    """The agents that are being driven."""
    return sorted(agent for agent, times in recorder.running.items() if times)


async def all_done(recorder: DriveRecorder, agents: int) -> None:
    recorder.release()
    await eventually(lambda: len(recorder.done) == agents)


async def test_a_worker_drives_so_many_at_once(open_engine: OpenEngine) -> None:
    engine, recorder = open_engine(DriveLimits(per_worker=3)), DriveRecorder(hold=True)
    await engine.launch(recorder.drive)
    await woken(engine, {f"agent-{number}": ("", "") for number in range(10)})
    await eventually(lambda: len(under_way(recorder)) == 3)
    await all_done(recorder, 10)
    assert recorder.max_at_once == 3


async def test_a_model_is_used_by_so_many_at_once(open_engine: OpenEngine) -> None:
    engine, recorder = open_engine(DriveLimits(per_model=1)), DriveRecorder(hold=True)
    await engine.launch(recorder.drive)
    await woken(engine, {f"{model}-{number}": (model, "") for model in "xyz" for number in "123"})
    await eventually(lambda: len(under_way(recorder)) == 3)
    assert [agent[0] for agent in under_way(recorder)] == ["x", "y", "z"]
    await all_done(recorder, 9)
    assert recorder.max_at_once == 3


async def test_a_user_has_so_many_agents_at_work(open_engine: OpenEngine) -> None:
    engine, recorder = open_engine(DriveLimits(per_user=2)), DriveRecorder(hold=True)
    await engine.launch(recorder.drive)
    await woken(engine, {f"{user}-{number}": ("x", user) for user in "ab" for number in "1234"})
    await eventually(lambda: len(under_way(recorder)) == 4)
    assert [agent[0] for agent in under_way(recorder)] == ["a", "a", "b", "b"]
    await all_done(recorder, 8)
    assert recorder.max_at_once == 4


async def test_both_limits_hold_together(open_engine: OpenEngine) -> None:
    engine, recorder = open_engine(DriveLimits(per_model=3, per_user=2)), DriveRecorder(hold=True)
    await engine.launch(recorder.drive)
    agents = {f"{user}-{number}": ("x", user) for user in "abc" for number in "123"}
    await woken(engine, agents | {"c-other": ("y", "c")})
    await eventually(lambda: sum(agent != "c-other" for agent in under_way(recorder)) == 3)
    highest = max(sum(agent[0] == user for agent in under_way(recorder)) for user in "abc")
    assert highest <= 2
    await all_done(recorder, 10)


async def test_an_agent_that_is_to_be_woken_later_is_counted_by_no_limit(
    open_engine: OpenEngine,
) -> None:
    engine, done = open_engine(DriveLimits(per_user=1)), Counter[str]()
    delays = {1: 3600.0, 2: 0.1}

    async def drive(space: Space, agent: AgentId) -> None:
        done[agent] += 1
        if agent == "ada" and done["ada"] in delays:
            await engine.wake(space, agent, user="u", delay=delays[done["ada"]])

    await engine.launch(drive)
    await woken(engine, {"ada": ("", "u")})
    await eventually(lambda: done["ada"] == 1)
    await woken(engine, {"bob": ("", "u")})
    await eventually(lambda: done["bob"] == 1)
    await woken(engine, {"ada": ("", "u")})
    await eventually(lambda: done["ada"] == 3)


async def test_an_agent_that_was_woken_later_takes_no_more_than_the_share_of_its_space(
    tmp_path: Path,
) -> None:
    backend, recorder = SqliteBackend(tmp_path, is_worker=True), DriveRecorder(hold=True)
    engine, began = backend.engine(DriveLimits(share=1)), Counter[str]()

    async def drive(space: Space, agent: AgentId) -> None:
        began[agent] += 1
        if agent == "ada" and began[agent] == 1:
            await engine.wake(space, agent, delay=3600)
        else:
            await recorder.drive(space, agent)

    try:
        await engine.launch(drive)
        await woken(engine, {"ada": ("", "")})
        await eventually(lambda: backend.count(RESTING) == 1, within=10)
        await woken(engine, {"bob": ("", "")})
        await eventually(lambda: recorder.running["bob"])
        await woken(engine, {"ada": ("", "")})
        await eventually(
            lambda: recorder.began["ada"] or backend.count("bells WHERE worker IS NULL")
        )
        assert under_way(recorder) == ["bob"]
        recorder.release()
        await eventually(lambda: recorder.done["ada"])
    finally:
        await engine.close()
