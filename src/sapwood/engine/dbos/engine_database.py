"""The engine's database as a process sees it that has DBOS, with or without a worker.

A thread that runs all of the engine's own SQL and commits many small pieces of work together.

When five hundred agents are woken or finish at once, this takes a few commits instead of a
thousand. Spaces take turns, and a transaction has no more work than fits into a short time: so the
one wake of a quiet space does not wait behind the five hundred of another.

A line in which keys, such as spaces, take turns, however many items one of them has.
"""

import asyncio
import logging
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Generic, TypeVar

import sqlalchemy as sa
from sqlalchemy.exc import OperationalError, SQLAlchemyError

from sapwood.core.log_values import AvailabilityListener
from sapwood.engine.dbos.drive_queue import DriveQueue
from sapwood.engine.dbos.system_database import (
    SystemDatabase,
    open_system_database,
    quiet_dbos_logging,
)
from sapwood.engine.drives import EngineError
from sapwood.engine.wake_database import ADVISORY_LOCK, Row, WakeDatabase
from sapwood.engine.wake_requests import WakeRequest

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


class TurnLine(Generic[_T]):
    """Items that wait. Each key gives one at a time; its own items keep their order.

    >>> line = TurnLine[int]()
    >>> for number in range(4):
    ...     line.add("flood", number)
    >>> line.add("quiet", 100)
    >>> line.take(3), len(line)
    ([0, 100, 1], 2)
    """

    def __init__(self) -> None:
        self._waiting: dict[str, deque[_T]] = {}
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def add(self, key: str, item: _T) -> None:
        """Adds an item. A key that has none yet goes to the end of the line."""
        self._waiting.setdefault(key, deque()).append(item)
        self._length += 1

    def take(self, most: int) -> list[_T]:
        """Takes out the next items, at most so many."""
        taken: list[_T] = []
        while self._waiting and len(taken) < most:
            key = next(iter(self._waiting))
            items = self._waiting.pop(key)
            taken.append(items.popleft())
            if items:
                self._waiting[key] = items
        self._length -= len(taken)
        return taken


class EngineDatabase:
    """The open database: the wake requests, the queue, and the thread that runs transactions.

    Raises `EngineError` when it cannot be opened.
    """

    def __init__(
        self, address: str | Path, on_availability: AvailabilityListener | None = None
    ) -> None:
        quiet_dbos_logging()
        try:
            self.system = open_system_database(address)
        except (OSError, SQLAlchemyError) as problem:
            raise EngineError(
                f"The engine's database could not be opened: {problem}. The log was not touched."
            ) from problem
        self.queue = DriveQueue(self.system)
        self._on_availability = on_availability
        self._transactions = TransactionThread(self.system.sql, on_availability)
        self.wakes = WakeDatabase(_BatchedSql(self._transactions, self.system), self.system.prefix)

    def wakes_of_heartbeat(self) -> WakeDatabase:
        """The wake requests, in a thread of its own.

        A heartbeat must not wait behind the transactions of many agents.
        """
        transactions = TransactionThread(self.system.sql, self._on_availability)
        return WakeDatabase(_BatchedSql(transactions, self.system), self.system.prefix)

    async def wake_later(self, request: WakeRequest, delay: float) -> None:
        """Schedules a wake after so many seconds."""
        await self._transactions.run(
            lambda connection: self.queue.schedule_wake(connection, request, delay)
        )

    async def close(self) -> None:
        """Finishes the transactions that were given and closes all connections."""
        await self._transactions.close()
        self.queue.close()
        self.system.sql.dispose()


class _BatchedSql:
    """Runs the statements of many agents together, in a few transactions."""

    def __init__(self, transactions: TransactionThread, system: SystemDatabase) -> None:
        self._transactions = transactions
        self._on_server = system.schema is not None
        self._statements: dict[str, sa.TextClause] = {}

    async def run(
        self, sql: str, values: Mapping[str, object], *, alone: bool = False
    ) -> Sequence[Row]:
        """Returns the rows."""
        statement = self._statements.setdefault(sql, sa.text(sql))

        def work(connection: sa.Connection) -> Sequence[Row]:
            if alone and self._on_server:
                lock = sa.text("SELECT pg_advisory_xact_lock(:number)")
                connection.execute(lock, {"number": ADVISORY_LOCK})
            result = connection.execute(statement, dict(values))
            return list(result.fetchall()) if result.returns_rows else []

        # Without an order it comes before all that lock rows, so that no two wait for each other.
        order = () if alone else (str(values.get("space", "")), str(values.get("agent", "")))
        return await self._transactions.run(work, *order)

    async def close(self) -> None:
        """Finishes the statements that were given, and ends the thread."""
        await self._transactions.close()
