"""What only the engine on Temporal does: server restarts, long histories, limits, old histories."""

import asyncio
import time
from collections.abc import AsyncGenerator
from datetime import timedelta
from pathlib import Path

import pytest
from temporalio import workflow
from temporalio.client import Client, WorkflowExecutionStatus, WorkflowHistory
from temporalio.worker import Replayer, UnsandboxedWorkflowRunner, Worker

from sapwood.config.config_file import TemporalConfig
from sapwood.core.ids import AgentId, Space
from sapwood.engine import DriveLimits, EngineError, NotServed, wake_all
from sapwood_temporal import TemporalEngine, agent_workflow, limit_workflow
from sapwood_temporal.agent_workflow import AgentWorkflow
from sapwood_temporal.limit_workflow import LimitWorkflow, Slots
from sapwood_temporal.temporal_engine import allow_slow_steps
from sapwood_temporal.workflow_values import (
    AgentRun,
    agent_workflow_id,
    limit_workflow_id,
)
from tests.engine.another_worker import SPACE
from tests.engine.backends import TemporalBackend
from tests.engine.drive_recorder import DriveRecorder
from tests.engine.eventually import eventually
from tests.engine.fake_log import FakeLog, working
from tools.temporal_server import throwaway

ADA, BOB = AgentId("ada"), AgentId("bob")
HISTORIES = Path(__file__).with_name("temporal_histories")


@workflow.defn(sandboxed=False)
class SlowWorkflow:
    """A workflow whose first step is slow in its first try, and fails in a second one."""

    tries = 0

    @workflow.run
    async def run(self) -> None:
        """Takes longer than the two seconds that Temporal allows."""
        SlowWorkflow.tries += 1
        assert SlowWorkflow.tries == 1, "the first try was stopped"
        time.sleep(2.5)  # noqa: ASYNC251 # as a machine that halts


@pytest.fixture
def backend(temporal_address: str) -> TemporalBackend:
    """A task queue of its own."""
    return TemporalBackend(temporal_address)


@pytest.fixture
async def client(temporal_address: str) -> Client:
    """A client of the server, which looks and interferes."""
    return await Client.connect(temporal_address)


@pytest.fixture
async def engine(backend: TemporalBackend) -> AsyncGenerator[TemporalEngine]:
    """An engine that is closed afterwards."""
    engine = backend.engine()
    yield engine
    await engine.close()


async def runs(client: Client, queue: str) -> list[WorkflowExecutionStatus | None]:
    """The states of all runs of ada's workflow, oldest first."""
    name = agent_workflow_id(queue, SPACE, ADA)
    found = [each async for each in client.list_workflows(f"WorkflowId = '{name}'")]
    return [each.status for each in sorted(found, key=lambda each: each.start_time)]


async def test_an_idle_agent_has_no_running_workflow(
    engine: TemporalEngine, backend: TemporalBackend, client: Client
) -> None:
    recorder, queue = DriveRecorder(), backend.config.task_queue
    await engine.launch(recorder.drive)
    await engine.wake(SPACE, ADA)
    await eventually(lambda: recorder.done["ada"])
    workflow = client.get_workflow_handle(agent_workflow_id(queue, SPACE, ADA))
    await workflow.result()
    running = f"TaskQueue = '{queue}' AND ExecutionStatus = 'Running'"
    async with asyncio.timeout(30):  # the count lags a little
        while (await client.count_workflows(running)).count:  # noqa: ASYNC110  # of another process
            await asyncio.sleep(0.05)


async def test_a_long_history_is_continued_as_a_new_run(
    engine: TemporalEngine,
    backend: TemporalBackend,
    client: Client,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(agent_workflow, "_MAX_DRIVES", 2)
    driven: list[int] = []

    async def drive(space: Space, agent: AgentId) -> None:
        driven.append(len(driven))
        if len(driven) < 5:
            await engine.wake(SPACE, ADA)

    await engine.launch(drive)
    await engine.wake(SPACE, ADA)
    await eventually(lambda: len(driven) == 5)
    name = agent_workflow_id(backend.config.task_queue, SPACE, ADA)
    await client.get_workflow_handle(name).result()
    await _listed(client, backend.config.task_queue, 3)
    states = await runs(client, backend.config.task_queue)
    assert [state.name for state in states if state] == ["CONTINUED_AS_NEW"] * 2 + ["COMPLETED"]


async def _listed(client: Client, queue: str, count: int) -> None:
    """Waits until the list of workflows, which lags a little, has so many runs."""
    async with asyncio.timeout(30):
        while len(await runs(client, queue)) < count:  # noqa: ASYNC110  # in another process
            await asyncio.sleep(0.05)


async def test_a_delay_outlives_a_new_run(
    engine: TemporalEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent_workflow, "_MAX_DRIVES", 1)
    recorder = DriveRecorder()
    await engine.wake(SPACE, ADA, delay=2.0)
    await engine.wake(SPACE, ADA)
    await engine.launch(recorder.drive)
    await eventually(lambda: recorder.done["ada"] == 2)


async def test_the_slot_of_a_workflow_that_was_terminated_is_given_back(
    backend: TemporalBackend, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limit_workflow, "_LOOK_AFTER", timedelta(seconds=0.5))
    engine, recorder = backend.engine(DriveLimits(per_model=1)), DriveRecorder(hold=True)
    try:
        await engine.launch(recorder.drive)
        await engine.wake(SPACE, ADA, model="oak")
        await eventually(lambda: recorder.running["ada"])
        await engine.wake(SPACE, BOB, model="oak")
        queue = backend.config.task_queue
        await client.get_workflow_handle(agent_workflow_id(queue, SPACE, ADA)).terminate()
        await eventually(lambda: recorder.running["bob"])
        recorder.release()
        await client.get_workflow_handle(limit_workflow_id(queue, "model:oak")).result()
        assert recorder.done["bob"] == 1
    finally:
        await engine.close()


async def test_a_terminated_workflow_ends_the_drive_and_the_agent_can_be_woken(
    engine: TemporalEngine, backend: TemporalBackend, client: Client
) -> None:
    recorder = DriveRecorder(hold=True)
    await engine.launch(recorder.drive)
    await engine.wake(SPACE, ADA)
    await eventually(lambda: recorder.running["ada"])
    name = agent_workflow_id(backend.config.task_queue, SPACE, ADA)
    await client.get_workflow_handle(name).terminate()
    await eventually(lambda: recorder.cancelled == 1)
    recorder.release()
    await engine.wake(SPACE, ADA)
    await eventually(lambda: recorder.done["ada"] == 1)


async def test_a_drive_that_reaches_the_wrong_worker_is_given_to_another(
    backend: TemporalBackend, engine: TemporalEngine
) -> None:
    refused: list[AgentId] = []

    async def refuse(space: Space, agent: AgentId) -> None:
        refused.append(agent)
        raise NotServed(space)

    other, recorder = backend.engine(), DriveRecorder()
    await engine.launch(refuse)
    await engine.wake(SPACE, ADA)
    await eventually(lambda: len(refused) > 1)
    await other.launch(recorder.drive)
    await eventually(lambda: recorder.done["ada"])
    await other.close()


@pytest.mark.night
async def test_work_goes_on_after_a_restart_of_the_server() -> None:
    with throwaway() as server:
        backend, recorder = TemporalBackend(server.address), DriveRecorder(hold=True)
        engine = backend.engine()
        await engine.launch(recorder.drive)
        await engine.wake(SPACE, ADA)
        await eventually(lambda: recorder.running["ada"])
        await asyncio.to_thread(server.stop)
        with pytest.raises(EngineError, match="does not answer"):
            await engine.wake(SPACE, BOB)
        await asyncio.to_thread(server.start)
        await engine.wake(SPACE, BOB)
        recorder.release()
        await eventually(lambda: recorder.done["ada"] and recorder.done["bob"])
        await engine.close()


@pytest.mark.night
async def test_everybody_is_woken_when_the_server_lost_its_database() -> None:
    log = FakeLog({SPACE: [working("ada")]})
    with throwaway() as server:
        engine = TemporalBackend(server.address).engine()
        await engine.wake(SPACE, ADA)
        await engine.close()
    with throwaway() as server:
        engine, recorder = TemporalBackend(server.address).engine(), DriveRecorder()
        await engine.launch(recorder.drive)
        assert await wake_all(log, engine, [SPACE]) == 1
        await eventually(lambda: recorder.done["ada"])
        await engine.close()


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        (TemporalConfig(address="127.0.0.1:1"), r"at 127\.0\.0\.1:1 does not answer"),
        (TemporalConfig(profile="nobody"), "Temporal settings are not valid"),
        (TemporalConfig(client_cert="/no/such/file"), "cannot be read"),
    ],
)
async def test_a_server_that_cannot_be_used_is_named(config: TemporalConfig, sentence: str) -> None:
    engine = TemporalEngine(config)
    with pytest.raises(EngineError, match=sentence):
        await engine.wake(SPACE, ADA)
    await engine.close()


async def test_a_namespace_that_does_not_exist_is_named(temporal_address: str) -> None:
    engine = TemporalEngine(TemporalConfig(address=temporal_address, namespace="nowhere"))
    with pytest.raises(EngineError, match="namespace create -n nowhere"):
        await engine.launch(DriveRecorder().drive)
    with pytest.raises(EngineError, match="namespace create -n nowhere"):
        await engine.wake(SPACE, ADA)
    await engine.close()


async def test_settings_of_temporal_itself_fill_the_gaps(
    temporal_address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "temporal.toml"
    file.write_text(f'[profile.team]\naddress = "{temporal_address}"\nnamespace = "elsewhere"\n')
    monkeypatch.setenv("TEMPORAL_CONFIG_FILE", str(file))
    engine = TemporalEngine(TemporalConfig(profile="team", namespace="default"))
    await engine.wake(SPACE, ADA)
    await engine.close()


@pytest.mark.parametrize("file", sorted(HISTORIES.glob("*.json")), ids=lambda file: file.stem)
async def test_histories_of_released_versions_are_replayed(file: Path) -> None:
    """If this fails, a worker of this version cannot continue a workflow of an older one."""
    text = await asyncio.to_thread(file.read_text)
    history = WorkflowHistory.from_json(file.stem, text)
    replayer = Replayer(
        workflows=[AgentWorkflow, LimitWorkflow], workflow_runner=UnsandboxedWorkflowRunner()
    )
    await replayer.replay_workflow(history)


def test_a_workflow_that_is_dropped_sends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python may delete it while another workflow runs, which would send its commands."""
    sent: list[str] = []

    async def never(*_: object, **__: object) -> None:
        await asyncio.Future[None](loop=loop)

    async def release(_: object) -> None:
        sent.append("release")

    loop = asyncio.new_event_loop()
    monkeypatch.setattr(workflow, "execute_local_activity", never)
    monkeypatch.setattr(Slots, "release", release)
    driving = AgentWorkflow(AgentRun("queue", SPACE, ADA, 10.0))._drive()  # pyright: ignore[reportPrivateUsage]
    driving.send(None)
    driving.close()
    loop.close()
    assert sent == []


async def test_a_step_may_be_slow(client: Client) -> None:
    """On a machine that halts for seconds, Temporal must not stop threads in the middle."""
    runner = UnsandboxedWorkflowRunner()
    slow = Worker(client, task_queue="slow", workflows=[SlowWorkflow], workflow_runner=runner)
    allow_slow_steps(slow)
    async with slow:
        handle = await client.start_workflow(
            SlowWorkflow.run, id="slow", task_queue="slow", task_timeout=timedelta(seconds=60)
        )
        async with asyncio.timeout(120):
            await handle.result()


def test_there_are_histories() -> None:
    assert len(list(HISTORIES.glob("*.json"))) >= 3
