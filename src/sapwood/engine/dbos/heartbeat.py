"""The heartbeat of a worker: it shows that the worker is alive and takes over from dead ones.

At every beat the worker raises its own count, cancels the drives that others took from it, and
releases the wake requests of workers whose count stands still: whoever has a free place takes them.
From time to time it cleans up: finished workflows are deleted, and requests that got stuck because
a process died between two commits are released.
"""

import asyncio
import logging

from sqlalchemy.exc import SQLAlchemyError

from sapwood.engine.dbos.dbos_runtime import DbosRuntime
from sapwood.engine.dbos.drive_attempts import DriveAttempts
from sapwood.engine.dbos.drive_queue import StartedWorkflow
from sapwood.engine.dbos.engine_database import EngineDatabase
from sapwood.engine.drives import EngineError
from sapwood.engine.limits import Intervals
from sapwood.engine.workers import (
    FailureDetector,
    is_of_one_process,
    process_has_ended,
    process_is_running,
)

_log = logging.getLogger("sapwood.engine")


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
