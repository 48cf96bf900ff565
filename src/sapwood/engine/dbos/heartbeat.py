"""The heartbeat of a worker: it shows that the worker is alive and takes over from dead ones.

At every beat the worker raises its own count, cancels the drives that other workers took from it,
and takes over the drives of workers whose count stands still. From time to time it cleans up:
finished workflows are deleted, and drives that got stuck because a process died between two
commits are started again.
"""

import asyncio
import logging

import sqlalchemy as sa
from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy.exc import SQLAlchemyError

from sapwood.engine.dbos.dbos_runtime import DbosRuntime
from sapwood.engine.dbos.drive_attempts import DriveAttempts
from sapwood.engine.dbos.drive_queue import StartedWorkflow
from sapwood.engine.dbos.engine_database import EngineDatabase
from sapwood.engine.dbos.transaction_thread import TransactionThread
from sapwood.engine.dbos.wake_requests import WakeRequest, new_drive_id
from sapwood.engine.dbos.workers import FailureDetector, process_has_ended, process_is_running
from sapwood.engine.drives import EngineError
from sapwood.engine.limits import Intervals

__all__ = ["Heartbeat"]

_MAX_REQUESTS = 5000
_log = logging.getLogger("sapwood.engine")


class _Pulse(Struct, frozen=True):
    """What the database shows at one beat.

    `known` is False if other workers removed this one as dead; `beats` are the counts of all
    workers, `holders` the attempts of this worker that still hold a claim.
    """

    known: bool
    beats: dict[str, int]
    holders: set[str]


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
        self._requests = database.requests
        self._workers = database.workers
        # A thread of its own: a beat must not wait behind the transactions of many agents.
        self._transactions = TransactionThread(database.system.sql, database.on_availability)
        self._attempts = attempts
        self._runtime = runtime
        self._intervals = intervals
        self._detector = FailureDetector(intervals.dead_after, intervals.heartbeat)
        self._stuck: set[str] = set()

    async def run(self) -> None:
        """Beats until it is cancelled. While the database is away it only waits."""
        try:
            await self._beat_until_cancelled()
        finally:
            await self._transactions.close()

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
        running = self._attempts.running()
        pulse = await self._transactions.run(self._pulse)
        if pulse.known:
            lost = [attempt for attempt in running if attempt.holder not in pulse.holders]
        else:
            lost = running
            _log.warning("This worker was away so long that others took over its agents.")
        self._attempts.cancel(lost)
        silent = self._detector.dead(pulse.beats)
        dead = {worker: beats for worker, beats in silent.items() if not process_is_running(worker)}
        dead |= {
            worker: beats for worker, beats in pulse.beats.items() if process_has_ended(worker)
        }
        for worker, beats in dead.items():
            await self._take_over(worker, beats)
        return pulse.beats

    def _pulse(self, connection: sa.Connection) -> _Pulse:
        known = self._workers.beat(connection, self._worker)
        beats = self._workers.all(connection)
        return _Pulse(known, beats, self._requests.holders(connection, self._worker))

    async def _take_over(self, worker: str, beats: int) -> None:
        removed = await self._transactions.run(
            lambda connection: self._workers.remove_dead(connection, worker, beats)
        )
        if removed:
            started = await asyncio.to_thread(self._queue.started, worker)
            await asyncio.to_thread(self._queue.requeue, started)
            _log.info("Worker %s is gone; %s drives go on elsewhere.", worker, len(started))

    async def _clean_up(self, beats: dict[str, int]) -> None:
        """Restarts what is stuck and deletes what is finished.

        Each worker cares for its own workflows; the first worker cares for everything else.
        """
        first = self._worker == min(beats)
        strays = await asyncio.to_thread(self._strays, None if first else self._worker, set(beats))
        driveless = await self._requests_without_drive() if first else []
        stuck = {each.workflow for each in strays} | {request.drive for request in driveless}
        # Only what was stuck the last time too: otherwise it may be between two commits.
        await asyncio.to_thread(
            self._queue.requeue, [each for each in strays if each.workflow in self._stuck]
        )
        for request in driveless:
            if request.drive in self._stuck:
                await self._restart(request)
        self._stuck = stuck
        if first:
            await asyncio.to_thread(self._queue.delete_finished, self._intervals.keep_finished)

    def _strays(self, worker: str | None, alive: set[str]) -> list[StartedWorkflow]:
        """Workflows of a worker that is gone, and those of this worker that it does not run."""
        return [
            started
            for started in self._queue.started(worker)
            if started.worker not in alive
            or (started.worker == self._worker and started.workflow not in self._runtime.running)
        ]

    async def _requests_without_drive(self) -> list[WakeRequest]:
        requests = await self._transactions.run(
            lambda connection: self._requests.all(connection, _MAX_REQUESTS)
        )
        return await asyncio.to_thread(self._queue.without_drive, requests)

    async def _restart(self, request: WakeRequest) -> None:
        successor = replace(request, drive=new_drive_id())

        def reassign(connection: sa.Connection) -> None:
            if self._requests.reassign(connection, request, successor.drive):
                self._queue.enqueue(connection, successor)

        await self._transactions.run(reassign, request.space, request.agent)
