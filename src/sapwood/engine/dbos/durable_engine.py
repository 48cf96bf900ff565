"""`DbosEngine`: the durable engine, assembled from its parts.

The heartbeat of a worker: it shows that the worker is alive and takes over from dead ones.

At every beat the worker raises its own count, cancels the drives that others took from it, and
releases the wake requests of workers whose count stands still: whoever has a free place takes them.
From time to time it cleans up: finished workflows are deleted, and requests that got stuck because
a process died between two commits are released.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any

from msgspec import Struct, structs
from sqlalchemy.exc import SQLAlchemyError

from sapwood.core.ids import AgentId, Space
from sapwood.core.log_values import AvailabilityListener
from sapwood.engine.dbos.dbos_runtime import DbosRuntime, LoopThread, run_in_loop
from sapwood.engine.dbos.drive_attempts import DriveAttempts
from sapwood.engine.dbos.drive_queue import StartedWorkflow
from sapwood.engine.dbos.engine_database import EngineDatabase
from sapwood.engine.dbos.system_database import SystemDatabase
from sapwood.engine.drives import DriveFunction, EngineError
from sapwood.engine.limits import DriveLimits, Intervals
from sapwood.engine.wake_database import Claim
from sapwood.engine.wake_requests import SpaceTurns, WakeRequest, new_drive_id
from sapwood.engine.workers import (
    FailureDetector,
    is_of_one_process,
    new_worker_id,
    process_has_ended,
    process_is_running,
)

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
    taking: asyncio.Task[None]


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
        self._turns = SpaceTurns(self._limits, serves)
        self._look = asyncio.Event()
        self._others_wait = False
        self._closed = False

    async def launch(self, drive: DriveFunction) -> None:
        """Starts a worker, which also takes over the unfinished drives of workers that died.

        Raises `EngineError` if the database cannot be opened, the engine is closed, or the process
        has a launched engine already.
        """
        database, name, loop = await self._opened(), new_worker_id(), LoopThread()
        attempts = DriveAttempts(
            drive, name, database, self._limits.per_worker, self._intervals, self._place_is_free
        )
        try:
            await asyncio.to_thread(database.queue.create_queues, self._intervals)
            await database.wakes.add_worker(name)
            runtime = await loop.call(self._launch_runtime(database.system, name, attempts))
        except BaseException:
            await database.wakes.remove_worker(name)
            await loop.stop()
            raise
        heartbeat = Heartbeat(name, database, attempts, runtime, self._intervals).run()
        task = asyncio.create_task(heartbeat, name="sapwood-engine-heartbeat")
        taking = asyncio.create_task(self._take_until_closed(database), name="sapwood-engine-take")
        self._worker = _Worker(name, loop, attempts, runtime, task, taking)

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
            await database.wakes.wake(request)
            self._others_wait = True  # the next drive that ends here looks for it
            if self._is_limited:
                self._look.set()

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
                    EngineDatabase, self._address, self._on_availability
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

        return DbosRuntime.launch(system, name, run_drive, run_alarm)

    @property
    def _is_limited(self) -> bool:
        return self._limits.counts_keys or bool(self._limits.share)

    def _has_room(self, worker: _Worker, space: Space) -> bool:
        """Whether one more drive may start here without waiting for its turn.

        Only a few may, so that other workers get their share. With limits per model, user or space,
        none may, because they are counted when a request that waits is claimed.
        """
        if self._serves is not None and not self._serves(space):
            return False
        most = min(_MAX_STARTED_HERE, self._limits.per_worker)
        return not self._is_limited and worker.attempts.started_here < most

    async def _wake_here(
        self, database: EngineDatabase, worker: _Worker, request: WakeRequest
    ) -> None:
        """Claims a new request and drives. Cancelling cannot come between the two."""
        holder = worker.attempts.new_holder()
        worker.attempts.expect(request, Claim(holder, 1))

        async def claim() -> None:
            is_new = False
            try:
                is_new = await database.wakes.wake_here(request, worker.name, holder)
            finally:
                if is_new:
                    worker.attempts.begin(request)
                else:
                    worker.attempts.forget(request)

        task = asyncio.create_task(claim())
        self._starting.add(task)
        task.add_done_callback(self._starting.discard)
        await asyncio.shield(task)

    # What waits

    async def _take_until_closed(self, database: EngineDatabase) -> None:
        while True:
            self._look.clear()
            try:
                if worker := self._worker:
                    await self._take(database, worker)
            except EngineError as problem:
                _log.info("Will look for waiting agents when the database is back: %s", problem)
            except Exception:  # whatever went wrong, the next look must come
                _log.exception("A worker could not pick up waiting agents.")
            with suppress(TimeoutError):
                async with asyncio.timeout(self._intervals.poll):
                    await self._look.wait()

    async def _take(self, database: EngineDatabase, worker: _Worker) -> None:
        """Claims requests that wait, in turns of their spaces, while there are free places."""
        running = worker.attempts.spaces()
        free = self._limits.per_worker - running.total()
        if free <= 0:
            self._others_wait = True
            return
        waiting = await database.wakes.waiting(self._limits, free)
        taken = await self._turns.take(
            waiting, running, lambda each: self._claim(database, worker, each)
        )
        self._others_wait = self._is_limited or taken >= free

    def _place_is_free(self) -> None:
        if self._others_wait:
            self._look.set()

    async def _claim(self, database: EngineDatabase, worker: _Worker, waiting: WakeRequest) -> bool:
        """Claims a request for a new drive, and begins it."""
        request = structs.replace(waiting, drive=new_drive_id())
        holder = worker.attempts.new_holder()
        worker.attempts.expect(request, Claim(holder, 0), is_queued=True)
        claim: Claim | None = None
        try:
            claim = await database.wakes.claim(
                waiting, request.drive, worker.name, holder, self._limits
            )
        finally:
            if claim is None:
                worker.attempts.forget(request)
        if claim is None:
            return False
        worker.attempts.expect(request, claim, is_queued=True)
        worker.attempts.begin(request)
        return True

    async def _stop_worker(self, database: EngineDatabase, worker: _Worker) -> None:
        """Ends the worker and puts its drives back into the queues.

        The heartbeat goes on until the drives have ended, so that no worker takes them too early.
        """
        worker.taking.cancel()
        await asyncio.wait([worker.taking])
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
            await asyncio.to_thread(database.queue.end, started)
            await database.wakes.release_all(worker.name)
            await database.wakes.remove_worker(worker.name)
        except Exception as problem:  # closing goes on; other workers notice without this
            cause = getattr(problem, "orig", None) or problem
            _log.warning("Other workers will take over some agents a little later: %s", cause)


class Heartbeat:
    """The heartbeat of one worker."""

    def __init__(
        self,
        worker: str,
        database: EngineDatabase,
        attempts: DriveAttempts,
        runtime: DbosRuntime,
        intervals: Intervals,
    ) -> None:
        self._worker = worker
        self._queue = database.queue
        self._wakes = database.wakes_of_heartbeat()
        self._attempts = attempts
        self._runtime = runtime
        self._intervals = intervals
        self._detector = FailureDetector(intervals.dead_after, intervals.heartbeat)
        self._stuck: set[str] = set()
        self._unheld: set[str] = set()

    async def run(self) -> None:
        """Beats until it is cancelled. While the database is away it only waits."""
        try:
            await self._beat_until_cancelled()
        finally:
            await self._wakes.close()

    async def _beat_until_cancelled(self) -> None:
        clock = asyncio.get_running_loop().time
        last_cleanup = clock()
        while True:
            await asyncio.sleep(self._intervals.heartbeat)
            try:
                beats = await self._beat()
                if clock() - last_cleanup >= self._intervals.cleanup:
                    await self._clean_up(beats)
                    last_cleanup = clock()
            except (SQLAlchemyError, EngineError):
                self._detector.start_over()  # no worker could beat
            except Exception:  # whatever went wrong, the next beat must come
                _log.exception("A worker's heartbeat failed.")

    async def _beat(self) -> dict[str, int]:
        running, held = self._attempts.running(), self._attempts.holders()
        if not await self._wakes.beat(self._worker):
            _log.warning(
                "This worker was unresponsive for so long that others took over its agents."
            )
        claimed = await self._wakes.claimed(self._worker)
        holders = {claim.holder for _, claim in claimed.values()}
        self._attempts.cancel([each for each in running if each.holder not in holders])
        unheld = holders - held - self._attempts.holders()
        for request, claim in claimed.values():
            if claim.holder in unheld & self._unheld:  # else it may be between two commits
                await self._wakes.release(request)
        self._unheld = unheld
        beats = await self._wakes.workers()
        silent = self._detector.dead(beats)
        dead = {worker: count for worker, count in silent.items() if not process_is_running(worker)}
        dead |= {worker: count for worker, count in beats.items() if process_has_ended(worker)}
        for worker, count in dead.items():
            await self._take_over(worker, count)
        return beats

    async def _take_over(self, worker: str, beats: int) -> None:
        if await self._wakes.remove_dead(worker, beats):
            await self._wakes.release_orphans()
            started = await asyncio.to_thread(self._queue.started, worker)
            await asyncio.to_thread(self._queue.end, started)
            _log.info("Worker %s is gone; its agents continue elsewhere.", worker)

    async def _clean_up(self, beats: dict[str, int]) -> None:
        """Releases what is stuck and deletes what is finished.

        Each worker cares for its own workflows; the first worker cares for everything else.
        """
        first = self._worker == min(each for each in beats if not is_of_one_process(each))
        strays = await asyncio.to_thread(self._strays, None if first else self._worker, set(beats))
        # Only what was stuck the last time too: otherwise it may be between two commits.
        stuck = [each for each in strays if each.workflow in self._stuck]
        await asyncio.to_thread(self._queue.end, stuck)
        self._stuck = {each.workflow for each in strays}
        if first:
            await self._wakes.release_orphans()
            await asyncio.to_thread(self._queue.delete_finished, self._intervals.keep_finished)

    def _strays(self, worker: str | None, alive: set[str]) -> list[StartedWorkflow]:
        """Workflows of a worker that is gone, and those of this worker that it does not run."""
        return [
            started
            for started in self._queue.started(worker)
            if started.worker not in alive
            or (started.worker == self._worker and started.workflow not in self._runtime.running)
        ]
