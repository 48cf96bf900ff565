"""`TemporalEngine`: launch, wake and close on a Temporal server."""

import asyncio
import logging
from contextvars import Context
from datetime import timedelta
from typing import Any, Self

from msgspec import Struct
from temporalio.client import Client
from temporalio.common import Priority
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from sapwood.config.config_file import Config, TemporalConfig
from sapwood.core.ids import AgentId, Space
from sapwood.core.plural import counted
from sapwood.engine.drives import DriveFunction, EngineError, GiveUp
from sapwood.engine.limits import DriveLimits, Intervals
from sapwood_temporal.agent_workflow import AgentWorkflow
from sapwood_temporal.drive_activity import DriveActivity
from sapwood_temporal.limit_workflow import LimitWorkflow
from sapwood_temporal.temporal_client import TemporalServer, engine_errors
from sapwood_temporal.workflow_values import (
    AGENT,
    WAKE,
    AgentRun,
    Wake,
    agent_workflow_id,
    fairness_key,
)

_INTERVALS = Intervals(heartbeat=3.0, dead_after=10.0)
_RESTART_SECONDS = 5.0
_STICKY = timedelta(seconds=1)
"""How long a workflow waits for the worker that has it in memory. Another one reads its history."""
_WORKFLOW_TASKS = 6
"""How many workflows of a worker run at once. Each takes a thread for a few milliseconds.

The others wait in the server, where no time runs out: on a machine without free CPU, many tasks
that were taken at once all miss their timeout, and are repeated.
"""
_DEADLOCK_SECONDS = 60.0
"""How long a step of a workflow may take. Ours never wait, but a machine may be slow or halted."""

_log = logging.getLogger("sapwood.engine")


class _Running(Struct, frozen=True):
    """The parts of an engine that was launched."""

    activity: DriveActivity
    task: asyncio.Task[None]
    watch: asyncio.Task[None]


class TemporalEngine:
    """Drives agents in any number of processes that share a Temporal task queue.

    A task queue serves the agents of one log. A process that only wakes agents need not launch its
    engine. Of the intervals, `heartbeat`, `dead_after`, `grace` and `retry_after` count.
    """

    def __init__(
        self,
        config: TemporalConfig,
        limits: DriveLimits | None = None,
        *,
        intervals: Intervals | None = None,
    ) -> None:
        self._config = config
        self._limits = limits or DriveLimits()
        self._intervals = intervals or _INTERVALS
        self._connecting = asyncio.Lock()
        self._server: TemporalServer | None = None
        self._client: Client | None = None
        self._running: _Running | None = None
        self._closed = False
        self.give_up: GiveUp | None = None

    @classmethod
    def configured(cls, config: Config, limits: DriveLimits) -> Self:
        """Returns the engine for a configuration."""
        return cls(config.temporal, limits)

    @staticmethod
    async def check(config: Config) -> str:
        """Connects, and returns where to and how many workers there are. Raises `EngineError`."""
        server = TemporalServer(config.temporal)
        client = await server.connect()
        await server.require_namespace(client)
        workers = counted(await server.workers(client), "worker")
        place = f"Temporal at {server.address}, namespace {server.namespace}"
        return f"{place}, task queue {server.task_queue} with {workers}"

    async def launch(self, drive: DriveFunction) -> None:
        """Starts a worker. Raises `EngineError` if the server cannot be used."""
        server, client = await self._connected()
        await server.require_namespace(client)
        activity = DriveActivity(drive, self._limits, self._intervals, self.give_up)
        # Drives must not inherit the context of the task that launched the engine.
        task = asyncio.get_running_loop().create_task(
            self._work(client, server.task_queue, activity), context=Context()
        )
        watch = asyncio.create_task(server.watch(client))
        self._running = _Running(activity, task, watch)

    async def wake(
        self, space: Space, agent: AgentId, *, model: str = "", user: str = "", delay: float = 0.0
    ) -> None:
        """Drives this agent soon, or after `delay` seconds, rounded up to whole seconds.

        An agent that is being driven is driven once more after that. Raises `EngineError` when the
        server does not answer or the engine is closed.
        """
        server, client = await self._connected()
        with engine_errors(server):
            await client.start_workflow(
                AGENT,
                AgentRun(server.task_queue, space, agent, self._intervals.dead_after),
                id=agent_workflow_id(server.task_queue, space, agent),
                task_queue=server.task_queue,
                start_signal=WAKE,
                start_signal_args=[Wake(delay, model, user)],
                task_timeout=timedelta(seconds=self._intervals.dead_after),
                priority=Priority(fairness_key=fairness_key(space)),
            )

    async def close(self) -> None:
        """Accepts no more work. Running drives are cancelled; other workers continue them."""
        self._closed = True
        running, self._running = self._running, None
        if running is not None:
            running.activity.close()
            running.task.cancel()
            running.watch.cancel()
            await asyncio.wait([running.task, running.watch])
        self._client = None

    async def _connected(self) -> tuple[TemporalServer, Client]:
        async with self._connecting:
            if self._closed:
                raise EngineError.closed()
            if self._server is None or self._client is None:
                self._server = TemporalServer(self._config)
                self._client = await self._server.connect()
            return self._server, self._client

    async def _work(self, client: Client, task_queue: str, activity: DriveActivity) -> None:
        """Runs a worker until this is cancelled, and another one if Temporal stops it."""
        while True:
            worker = Worker(
                client,
                task_queue=task_queue,
                workflows=[AgentWorkflow, LimitWorkflow],
                activities=[activity.drive, activity.limits],
                workflow_runner=UnsandboxedWorkflowRunner(),
                max_concurrent_workflow_tasks=_WORKFLOW_TASKS,
                max_concurrent_activities=self._limits.per_worker,
                max_heartbeat_throttle_interval=timedelta(seconds=self._intervals.heartbeat),
                default_heartbeat_throttle_interval=timedelta(seconds=self._intervals.heartbeat),
                sticky_queue_schedule_to_start_timeout=_STICKY,
            )
            allow_slow_steps(worker)
            try:
                await worker.run()
            except Exception as problem:
                _log.warning("The worker stopped and will restart soon: %s", problem)
                await asyncio.sleep(_RESTART_SECONDS)


def allow_slow_steps(worker: Worker) -> None:
    """Lets a step of a workflow take longer than two seconds.

    After that time Temporal would stop its thread by an exception, wherever the thread is then. It
    has no option for the time (sdk-python issue 1050).
    """
    inner: Any = worker._workflow_worker  # pyright: ignore[reportPrivateUsage]
    inner._deadlock_timeout_seconds = _DEADLOCK_SECONDS
