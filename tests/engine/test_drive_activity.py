"""The activity that drives agents on Temporal, without a server: deaths, suspects and shares."""

import asyncio
import dataclasses
from datetime import UTC, datetime
from typing import cast

import pytest
from temporalio.client import AsyncActivityCancelledError, Client
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from sapwood.core.ids import AgentId, Space
from sapwood.engine import DriveLimits
from sapwood_temporal.drive_activity import DriveActivity
from sapwood_temporal.workflow_values import DriveOrder
from tests.engine.another_worker import SPACE
from tests.engine.backends import FAST
from tests.engine.drive_recorder import DriveRecorder
from tests.engine.eventually import eventually

ADA = AgentId("ada")


async def tried(*details: object, attempt: int) -> tuple[list[object], list[int], list[str]]:
    """Runs a try of a drive after one that sent these details.

    Returns what it sent to the server, with how many deaths it was given up, and who was driven.
    """
    sent: list[object] = []
    given_up: list[int] = []
    recorder = DriveRecorder()

    async def give_up(space: Space, agent: AgentId, deaths: int) -> None:
        given_up.append(deaths)

    class Handle:
        async def heartbeat(self, *details: object) -> None:
            sent.append(details)

    class Server:
        def get_async_activity_handle(self, *, task_token: bytes) -> Handle:
            return Handle()

    environment = ActivityEnvironment(client=cast("Client", Server()))
    environment.info = dataclasses.replace(
        environment.info,
        attempt=attempt,
        heartbeat_details=details,
        started_time=datetime.now(UTC),
    )
    environment.on_heartbeat = lambda *details: sent.append(details)
    activity = DriveActivity(recorder.drive, DriveLimits(), FAST, give_up)
    await environment.run(activity.drive, DriveOrder(SPACE, ADA))
    return sent, given_up, list(recorder.began)


class Orphans:
    """Agents whose worker died: this one gets all their drives at the same moment.

    The server answers the heartbeats of tries when the test allows it.
    """

    def __init__(self, limits: DriveLimits, recorder: DriveRecorder) -> None:
        self.answers = asyncio.Event()
        self.asked: list[str] = []
        self.driven_elsewhere: set[str] = set()
        self.sent: dict[str, list[object]] = {}
        self._activity = DriveActivity(recorder.drive, limits, FAST)

    def get_async_activity_handle(self, *, task_token: bytes) -> "_OrphanHandle":
        return _OrphanHandle(self, task_token.decode())

    async def drive(self, agent: str, deaths: int) -> None:
        """Runs the next try of a drive in which so many processes have died."""
        environment = ActivityEnvironment(client=cast("Client", self))
        environment.info = dataclasses.replace(
            environment.info,
            attempt=2,
            heartbeat_details=(0, deaths - 1, True),
            started_time=datetime.now(UTC),
            task_token=agent.encode(),
        )
        sent = self.sent.setdefault(agent, [])
        environment.on_heartbeat = lambda *details: sent.append(details)
        await environment.run(self._activity.drive, DriveOrder(SPACE, AgentId(agent)))


class _OrphanHandle:
    def __init__(self, orphans: Orphans, agent: str) -> None:
        self._orphans = orphans
        self._agent = agent

    async def heartbeat(self, *details: object) -> None:
        self._orphans.asked.append(self._agent)
        self._orphans.sent.setdefault(self._agent, []).append(details)
        await self._orphans.answers.wait()
        if self._agent in self._orphans.driven_elsewhere:
            raise AsyncActivityCancelledError


@pytest.mark.parametrize(
    ("limits", "deaths", "reason"),
    [
        (DriveLimits(), 2, "Another agent that may end this worker runs"),
        (DriveLimits(share=1), 1, "has used up its share"),
    ],
)
async def test_of_agents_that_arrive_at_once_only_as_many_are_driven_as_there_is_room_for(
    limits: DriveLimits, deaths: int, reason: str
) -> None:
    recorder = DriveRecorder(hold=True)
    orphans = Orphans(limits, recorder)
    agents = ["a", "b", "c", "d", "e"]
    tries = {agent: asyncio.ensure_future(orphans.drive(agent, deaths)) for agent in agents}
    await eventually(lambda: orphans.asked)
    orphans.answers.set()
    await eventually(lambda: recorder.running.total() + sum(t.done() for t in tries.values()) == 5)
    assert recorder.running.total() == 1
    recorder.release()
    results = await asyncio.gather(*tries.values(), return_exceptions=True)
    refused = [agent for agent, result in zip(agents, results, strict=True) if result is not None]
    assert len(refused) == 4
    for agent in refused:
        with pytest.raises(ApplicationError, match=reason):
            await tries[agent]
        # A death of this worker, at whatever moment, does not count against one that it never ran.
        assert orphans.sent[agent] == [(0, deaths, False)]


async def test_a_try_that_another_worker_has_gives_its_room_back() -> None:
    recorder = DriveRecorder()
    orphans = Orphans(DriveLimits(), recorder)
    orphans.driven_elsewhere.add("a")
    orphans.answers.set()
    with pytest.raises(ApplicationError, match="no longer runs here"):
        await orphans.drive("a", 2)
    await orphans.drive("b", 2)
    assert list(recorder.done) == ["b"]


async def test_a_drive_in_which_processes_died_again_and_again_is_given_up() -> None:
    assert await tried(attempt=1) == ([], [], ["ada"])
    sent, given_up, driven = await tried(0, 2, True, attempt=3)
    assert (sent[0], given_up, driven) == ((0, 3, True), [], ["ada"])  # known before it is driven
    assert (await tried(0, 3, True, attempt=4))[1:] == ([4], [])
    assert (await tried(0, 3, False, attempt=40))[1:] == ([], ["ada"])  # these were given back
    assert (await tried(2, attempt=40))[1:] == ([], ["ada"])  # by a worker of a version before
