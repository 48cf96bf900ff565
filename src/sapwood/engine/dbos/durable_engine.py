"""`DbosEngine`: the durable engine, assembled from its parts."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from msgspec import Struct

from sapwood.core.ids import AgentId, Space
from sapwood.core.log_values import AvailabilityListener
from sapwood.engine.dbos.dbos_runtime import DbosRuntime, LoopThread, run_in_loop
from sapwood.engine.dbos.drive_attempts import DriveAttempts
from sapwood.engine.dbos.engine_database import EngineDatabase
from sapwood.engine.dbos.heartbeat import Heartbeat
from sapwood.engine.dbos.system_database import SystemDatabase
from sapwood.engine.dbos.wake_requests import WakeRequest, new_drive_id
from sapwood.engine.dbos.workers import new_worker_id
from sapwood.engine.drives import DriveFunction, EngineError
from sapwood.engine.limits import DriveLimits, Intervals

__all__ = ["DbosEngine"]

_MAX_STARTED_HERE = 16
_SETTLE_SECONDS = 2.0
_log = logging.getLogger("sapwood.engine")


class _Worker(Struct, frozen=True):
    """The parts of an engine that was launched."""

    name: str
    loop: LoopThread
    attempts: DriveAttempts
    runtime: DbosRuntime
    heartbeat: asyncio.Task[None]


class DbosEngine:
    """Drives agents in any number of processes that share a database.

    `address` is the log's: a path or `postgresql://…`. A process that only wakes agents need not
    launch its engine. A process can have one launched engine at a time, and it belongs to the
    event loop that launched it. `on_availability` is called from threads. `serves` says of which
    spaces this worker takes work, by default of all.
    """

    def __init__(
        self,
        address: str | Path,
        limits: DriveLimits | None = None,
        *,
        intervals: Intervals | None = None,
        on_availability: AvailabilityListener | None = None,
        serves: Callable[[Space], bool] | None = None,
    ) -> None:
        self._address = address
        self._limits = limits or DriveLimits()
        self._intervals = intervals or Intervals()
        self._on_availability = on_availability
        self._serves = serves
        self._opening = asyncio.Lock()
        self._database: EngineDatabase | None = None
        self._worker: _Worker | None = None
        self._starting: set[asyncio.Task[None]] = set()
        self._closed = False

    async def launch(self, drive: DriveFunction) -> None:
        """Starts a worker, which also takes over the unfinished drives of workers that died.

        Raises `EngineError` if the database cannot be opened, the engine is closed, or the process
        has a launched engine already.
        """
        database, name, loop = await self._opened(), new_worker_id(), LoopThread()
        attempts = DriveAttempts(drive, name, database, self._limits.per_worker, self._intervals)
        try:
            await asyncio.to_thread(database.queue.create_queues, self._intervals)
            await database.add_worker(name)
            runtime = await loop.call(self._launch_runtime(database.system, name, attempts))
        except BaseException:
            await database.remove_worker(name)
            await loop.stop()
            raise
        heartbeat = Heartbeat(name, database, attempts, runtime, self._intervals).run()
        task = asyncio.create_task(heartbeat, name="sapwood-engine-heartbeat")
        self._worker = _Worker(name, loop, attempts, runtime, task)

    async def wake(
        self, space: Space, agent: AgentId, *, model: str = "", user: str = "", delay: float = 0.0
    ) -> None:
        """Drives this agent soon, or after `delay` seconds, rounded up to whole seconds.

        An agent that is being driven is driven once more after that. If this process has a worker
        with room, the drive starts here without waiting in a queue. Raises `EngineError` when the
        database cannot be opened or the engine is closed.
        """
        database = await self._opened()
        request = WakeRequest(space, agent, new_drive_id(), model, user)
        if delay > 0:
            await database.wake_later(request, delay)
        elif self._worker and self._has_room(self._worker, space):
            await self._wake_here(database, self._worker, request)
        else:
            await database.wake(request)

    async def close(self) -> None:
        """Accepts no more work. Running drives are cancelled; other workers continue them."""
        worker, self._worker = self._worker, None
        if worker and self._database:
            await self._stop_worker(self._database, worker)
        self._closed = True
        database, self._database = self._database, None
        if database:
            await database.close()

    async def _opened(self) -> EngineDatabase:
        async with self._opening:
            if self._closed:
                raise EngineError.closed()
            if self._database is None:
                self._database = await asyncio.to_thread(
                    EngineDatabase, self._address, self._limits, self._on_availability
                )
            return self._database

    def _launch_runtime(
        self, system: SystemDatabase, name: str, attempts: DriveAttempts
    ) -> Coroutine[Any, Any, DbosRuntime]:
        home = asyncio.get_running_loop()

        async def run_drive(space: str, agent: str, drive: str) -> None:
            request = WakeRequest(Space(space), AgentId(agent), drive)
            await run_in_loop(home, attempts.run(request))

        async def run_alarm(space: str, agent: str, model: str, user: str) -> None:
            await run_in_loop(home, self.wake(Space(space), AgentId(agent), model=model, user=user))

        return DbosRuntime.launch(system, name, self._intervals, run_drive, run_alarm, self._serves)

    def _has_room(self, worker: _Worker, space: Space) -> bool:
        """Whether one more drive may start here without waiting in a queue.

        Only a few may, so that other workers get their share. With limits per model, user or space,
        none may, because the queues count those.
        """
        limits = self._limits
        limited = limits.per_model or limits.per_user or limits.per_space or limits.share
        if self._serves is not None and not self._serves(space):
            return False
        most = min(_MAX_STARTED_HERE, self._limits.per_worker)
        return not limited and worker.attempts.started_here < most

    async def _wake_here(
        self, database: EngineDatabase, worker: _Worker, request: WakeRequest
    ) -> None:
        """Starts a drive here, which takes two commits. Cancelling cannot come between them."""
        task = asyncio.create_task(_start_here(database, worker, request))
        self._starting.add(task)
        task.add_done_callback(self._starting.discard)
        await asyncio.shield(task)

    async def _stop_worker(self, database: EngineDatabase, worker: _Worker) -> None:
        """Ends the worker and puts its drives back into the queues.

        The heartbeat goes on until the drives have ended, so that no worker takes them too early.
        """
        await asyncio.gather(*self._starting, return_exceptions=True)
        await worker.attempts.close()
        worker.heartbeat.cancel()
        await asyncio.wait([worker.heartbeat])
        await worker.loop.settle(_SETTLE_SECONDS)
        await asyncio.to_thread(worker.runtime.stop)
        await worker.loop.settle(0)
        await worker.loop.stop()
        try:
            started = await asyncio.to_thread(database.queue.started, worker.name)
            await asyncio.to_thread(database.queue.requeue, started)
            await database.remove_worker(worker.name)
        except Exception as problem:  # closing goes on; other workers notice without this
            cause = getattr(problem, "orig", None) or problem
            _log.warning("Other workers take over some drives a little later: %s", cause)


async def _start_here(database: EngineDatabase, worker: _Worker, request: WakeRequest) -> None:
    holder = worker.attempts.new_holder()
    worker.attempts.expect(request, holder)
    started = False
    try:
        if await database.wake_here(request, worker.name, holder):
            worker.attempts.begin(request)
            await worker.loop.call(worker.runtime.start(request))
            started = True
    finally:
        if not started:
            worker.attempts.forget(request)
