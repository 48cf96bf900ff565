"""Workers for several spaces: limits per space, room for others, and spaces that are not served."""

import asyncio

import pytest

from sapwood.core.ids import AgentId, Space
from sapwood.engine import DriveLimits, NotServed
from sapwood.turns.scheduler import Engine
from tests.engine.backends import FAST, DurableBackend, SharedBackend
from tests.engine.conftest import OpenEngine
from tests.engine.drive_recorder import DriveRecorder
from tests.engine.eventually import eventually

FLOOD, QUIET = Space("flood"), Space("quiet")


async def woken(engine: Engine, space: Space, agents: int) -> None:
    """Wakes so many agents of a space."""
    await asyncio.gather(
        *(engine.wake(space, AgentId(f"{space}-{number}")) for number in range(agents))
    )


def under_way(recorder: DriveRecorder) -> list[str]:
    """The spaces of the agents that are being driven."""
    return sorted(agent.split("-")[0] for agent, times in recorder.running.items() if times)


async def test_a_space_has_so_many_agents_at_work(open_engine: OpenEngine) -> None:
    engine, recorder = open_engine(DriveLimits(per_space=2)), DriveRecorder(hold=True)
    await engine.launch(recorder.drive)
    await woken(engine, FLOOD, 6)
    await woken(engine, QUIET, 1)
    await eventually(lambda: under_way(recorder) == ["flood", "flood", "quiet"])
    recorder.release()
    await eventually(lambda: len(recorder.done) == 7)
    assert recorder.max_at_once == 3


async def test_a_space_that_floods_a_worker_leaves_room_for_others(open_engine: OpenEngine) -> None:
    engine = open_engine(DriveLimits(per_worker=4, share=3))
    recorder = DriveRecorder(hold=True)
    await engine.launch(recorder.drive)
    await woken(engine, FLOOD, 20)
    await eventually(lambda: under_way(recorder) == ["flood"] * 3)
    await woken(engine, QUIET, 1)
    await eventually(lambda: "quiet" in under_way(recorder))
    recorder.release()
    await eventually(lambda: len(recorder.done) == 21)


class _InOrder(DriveRecorder):
    """Also records of which space each drive was, in the order in which they began."""

    def __init__(self) -> None:
        super().__init__(hold=True)
        self.order: list[Space] = []

    async def drive(self, space: Space, agent: AgentId) -> None:
        self.order.append(space)
        await super().drive(space, agent)


@pytest.mark.parametrize("per_space", [None, 1, 2])
async def test_quiet_spaces_wait_for_one_drive_of_each_other_space_at_most(
    by_rows: DurableBackend, per_space: int | None
) -> None:
    engine = by_rows.engine(DriveLimits(per_worker=1, share=1, per_space=per_space))
    recorder = _InOrder()
    await engine.launch(recorder.drive)
    flooding = [Space("flood1"), Space("flood2"), Space("flood3")]
    for space in flooding:
        await woken(engine, space, 10)
    await eventually(lambda: len(recorder.order) == 1)
    quiet = [Space(f"quiet{number}") for number in range(8)]
    for space in quiet:
        await woken(engine, space, 1)
    recorder.release()
    await eventually(lambda: len(recorder.done) == 38)
    await engine.close()
    first = recorder.order[1 : 1 + len(flooding) + len(quiet)]
    assert set(quiet) <= set(first), " ".join(recorder.order)


async def test_spaces_that_wait_get_equal_parts_of_the_free_places(by_rows: DurableBackend) -> None:
    engine, recorder = by_rows.engine(DriveLimits(per_worker=4, share=4)), _InOrder()
    await woken(engine, FLOOD, 20)
    quiet = [Space(f"quiet{number}") for number in range(3)]
    for space in quiet:
        await woken(engine, space, 2)
    await engine.launch(recorder.drive)
    await eventually(lambda: len(recorder.order) == 4)
    assert sorted(recorder.order) == [FLOOD, *quiet]
    recorder.release()
    await eventually(lambda: len(recorder.done) == 26)
    await engine.close()


@pytest.mark.parametrize("per_space", [None, 1])
async def test_a_worker_passes_over_the_spaces_that_it_does_not_serve(
    by_rows: DurableBackend, per_space: int | None
) -> None:
    limits = DriveLimits(per_space=per_space)

    async def only(space: Space, recorder: DriveRecorder) -> Engine:
        async def drive(of: Space, agent: AgentId) -> None:
            if of != space:
                refused.append(of)
                raise NotServed(of)
            await recorder.drive(of, agent)

        serves = space.__eq__
        engine = by_rows.engine(limits, FAST, serves)
        await engine.launch(drive)
        return engine

    refused, recorder = list[Space](), DriveRecorder()
    engine = await only(QUIET, recorder)
    await woken(engine, FLOOD, 3)
    await woken(engine, QUIET, 3)
    await eventually(lambda: len(recorder.done) == 3)
    await eventually(lambda: by_rows.count("bells") == 3)
    await engine.close()
    assert all(agent.startswith("quiet") for agent in recorder.began)
    assert refused == []
    later = DriveRecorder()
    engine = await only(FLOOD, later)
    await eventually(lambda: len(later.done) == 3)
    await engine.close()


async def test_a_drive_that_reaches_the_wrong_worker_is_given_back(by_rows: DurableBackend) -> None:
    refused: list[AgentId] = []

    async def refuse(space: Space, agent: AgentId) -> None:
        refused.append(agent)
        raise NotServed(space)

    engine = by_rows.engine(DriveLimits(share=5))
    await engine.launch(refuse)
    await woken(engine, QUIET, 1)
    await eventually(lambda: len(refused) > 0)
    await engine.close()
    assert by_rows.count("bells") == 1
    recorder = DriveRecorder()
    engine = by_rows.engine()
    await engine.launch(recorder.drive)
    await eventually(lambda: len(recorder.done) == 1)
    await engine.close()


async def test_a_process_without_limits_obeys_those_of_the_workers(
    shared: SharedBackend,
) -> None:
    """Who only wakes agents, such as a web server, knows nothing of the limits of the workers."""
    engine, recorder = shared.engine(DriveLimits(per_user=1)), DriveRecorder(hold=True)
    await engine.launch(recorder.drive)
    waking = shared.engine()
    await asyncio.gather(
        *(waking.wake(QUIET, AgentId(f"a-{number}"), user="ada") for number in range(3)),
        waking.wake(QUIET, AgentId("b-0"), user="bob"),
    )
    await eventually(lambda: len(under_way(recorder)) == 2)
    assert under_way(recorder) == ["a", "b"]
    recorder.release()
    await eventually(lambda: len(recorder.done) == 4)
    assert recorder.max_at_once == 2
    await waking.close()
    await engine.close()
