"""A thread that runs all of the engine's own SQL and commits many small pieces of work together.

When five hundred agents are woken or finish at once, this takes a few commits instead of a
thousand. Spaces take turns, and a transaction has no more work than fits into a short time: so the
one wake of a quiet space does not wait behind the five hundred of another.
"""

import asyncio
import logging
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.exc import OperationalError

from sapwood.core.log_values import AvailabilityListener
from sapwood.engine.drives import EngineError
from sapwood.engine.turn_line import TurnLine

_T = TypeVar("_T")
Work = Callable[[sa.Connection], _T]
"""A few statements that run inside a transaction. It may run twice, so it must be repeatable."""

_log = logging.getLogger("sapwood.engine")

_SMALLEST_BATCH, _LARGEST_BATCH = 8, 64
_BATCH_SECONDS = 0.1
_GIVE_UP_AFTER = 30.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 1.0
_CONFLICTS = frozenset({"40001", "40P01", "55P03", "57014"})
"""Codes of PostgreSQL: serialization failure, deadlock, lock not available, query cancelled."""


class _Job:
    """A piece of work, the row it locks, and the future of its caller."""

    def __init__(self, order: tuple[str, ...], work: Work[Any]) -> None:
        self.order = order
        self.work = work
        self.future: Future[Any] = Future()


class TransactionThread:
    """Runs work in a thread of its own; work on the same agent runs in the order it was given."""

    def __init__(
        self, database: sa.Engine, on_availability: AvailabilityListener | None = None
    ) -> None:
        self._database = database
        self._on_availability = on_availability
        self._problem = ""
        self._closed = False
        self._batch = _SMALLEST_BATCH
        self._line: TurnLine[_Job] = TurnLine()
        self._ends = False
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="sapwood-engine-sql", daemon=True)
        self._thread.start()

    async def run(self, work: Work[_T], *order: str) -> _T:
        """Runs the work and returns its result once it is committed.

        `order` names the row that the work locks. All transactions lock rows in the same order, so
        that no two wait for each other. Raises what the work raises, or `EngineError` when the
        database does not answer for a long time or the thread is closed.
        """
        if self._closed:
            raise EngineError.closed()
        job = _Job(order, work)
        self._jobs.put(job)
        return await asyncio.wrap_future(job.future)

    async def close(self) -> None:
        """Runs the work that was already given, then ends the thread."""
        self._closed = True
        self._jobs.put(None)
        await asyncio.to_thread(self._thread.join)

    def _run(self) -> None:
        while self._has_jobs():
            jobs = self._line.take(self._batch)
            wanted = [each for each in jobs if each.future.set_running_or_notify_cancel()]
            wanted.sort(key=lambda each: each.order)
            if wanted:
                began = time.monotonic()
                self._finish(wanted)
                self._batch = _batch_size((time.monotonic() - began) / len(wanted))

    def _has_jobs(self) -> bool:
        """Puts the jobs that were given into the line, and waits for one if there is none."""
        while True:
            try:
                job = self._jobs.get(block=not self._line and not self._ends)
            except queue.Empty:
                return bool(self._line)
            if job is None:
                self._ends = True
            else:
                self._line.add(job.order[0] if job.order else "", job)

    def _finish(self, jobs: list[_Job]) -> None:
        """Commits the jobs together. Waits while the database is away.

        If one of them fails, each is run alone, so that only the failing one fails.
        """
        pause, deadline = _FIRST_PAUSE, time.monotonic() + _GIVE_UP_AFTER
        while True:
            try:
                results = self._commit(jobs)
                self._note_availability("")
                return _set_results(jobs, results)
            except OperationalError as problem:
                reason = str(problem.orig) or type(problem.orig).__name__
                if not _is_conflict(problem):
                    self._note_availability(reason)
                if time.monotonic() > deadline:
                    away = f"The engine's database does not answer: {reason}"
                    return _set_errors(jobs, EngineError(away))
            except Exception as problem:
                if len(jobs) == 1:
                    return _set_errors(jobs, problem)
                for job in jobs:
                    self._finish([job])
                return None
            time.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)

    def _note_availability(self, problem: str) -> None:
        if bool(problem) != bool(self._problem):
            _log.info("The engine's database %s.", "does not answer" if problem else "is back")
        if self._on_availability and (problem or self._problem):
            self._on_availability(problem)
        self._problem = problem

    def _commit(self, jobs: list[_Job]) -> list[Any]:
        with self._database.begin() as connection:
            return [job.work(connection) for job in jobs]


def _is_conflict(problem: OperationalError) -> bool:
    """Whether another transaction was in the way: then the database does answer."""
    return str(getattr(problem.orig, "sqlstate", None)) in _CONFLICTS


def _batch_size(seconds: float) -> int:
    """How many jobs that take so long each are committed together."""
    fitting = round(_BATCH_SECONDS / max(seconds, 1e-6))
    return max(_SMALLEST_BATCH, min(fitting, _LARGEST_BATCH))


def _set_results(jobs: list[_Job], results: list[Any]) -> None:
    for job, result in zip(jobs, results, strict=True):
        job.future.set_result(result)


def _set_errors(jobs: list[_Job], problem: Exception) -> None:
    for job in jobs:
        job.future.set_exception(problem)
