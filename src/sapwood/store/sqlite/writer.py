"""The one thread that writes. Commits that wait are written together: one transaction, one flush.

Each is a savepoint of its own, so a refused one leaves the others alone. A commit that comes alone
need not wait for the thread (`AtOnce`). Work that could be done again (words to index, snapshots)
goes between commits, a piece at a time and without a flush. The caller may stop waiting at any
time; what was handed over is done all the same.
"""

import asyncio
import contextlib
import sqlite3
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, Generic, TypeVar, cast

from sapwood.store.sqlite.at_once import AtOnce, BusyElsewhere
from sapwood.store.sqlite.errors import closed, explain
from sapwood.store.sqlite.postbox import Postbox

__all__ = ["Writer"]

T = TypeVar("T")

_MOST = 500
"""Jobs in one transaction: enough to share the flush, few enough to answer soon."""


def _nothing() -> None: ...


class _Job(Generic[T]):
    """Work for the writer and, afterwards, how it ended."""

    __slots__ = ("durable", "error", "future", "result", "then", "work")

    def __init__(
        self,
        work: Callable[[sqlite3.Connection], T],
        future: "asyncio.Future[T]",
        then: Callable[[], None],
        durable: bool,
    ) -> None:
        self.work = work
        self.future = future
        self.then = then
        self.durable = durable
        self.result: T | None = None
        self.error: Exception | None = None

    def deliver(self) -> None:
        if not self.future.done():  # else the caller stopped waiting
            if self.error is None:
                self.future.set_result(cast("T", self.result))
            else:
                self.future.set_exception(self.error)
        if self.error is None:
            self.then()


_Batch = list[_Job[Any]]


class Writer:
    """Owns the connection that writes. Belongs to the event loop in which it was made."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self._path = path
        self._loop = asyncio.get_running_loop()
        self._at_once = AtOnce(path)
        self._arrived: _Batch = []
        self._jobs: SimpleQueue[_Job[Any] | None] = SimpleQueue()
        self._done: Postbox[_Batch | None] = Postbox(self._deliver)
        self._ended = self._loop.create_future()
        self._closed = False
        self._between: deque[_Job[Any]] = deque()
        self._last = False
        self._flushes = True
        # A daemon: whoever forgets to close must still be able to leave. What was acknowledged is
        # on disk, and a transaction cut short never was.
        Thread(target=self._run, name="sapwood-writer", daemon=True).start()

    async def do(
        self,
        work: Callable[[sqlite3.Connection], T],
        then: Callable[[], None] = _nothing,
        *,
        durable: bool = True,
    ) -> T:
        """Runs the work in a transaction, and `then` once that is on disk.

        Work that could be done again need not be `durable`: it waits for no flush of its own.
        """
        if self._closed:
            raise closed()
        job = _Job(work, self._loop.create_future(), then, durable)
        if not self._arrived:
            self._loop.call_soon(self._hand_over)
        self._arrived.append(job)
        return await job.future

    async def close(self) -> None:
        """Finishes what was handed over, then lets go of the file."""
        if not self._closed:
            self._closed = True
            self._hand_over()
            self._at_once.close()
            self._jobs.put(None)
        await asyncio.shield(self._ended)

    def _hand_over(self) -> None:
        """Gives to the thread what came since it was called for, unless one can be done here."""
        arrived, self._arrived = self._arrived, []
        if len(arrived) == 1 and self._is_done_here(arrived[0]):
            return
        for job in arrived:
            self._jobs.put(job)

    def _is_done_here(self, job: _Job[Any]) -> bool:
        if not (job.durable and self._at_once.is_quick):
            return False
        try:
            job.result = self._at_once.do(job.work)
        except BusyElsewhere:
            return False
        except Exception as error:
            job.error = explain(error, self._path)
        job.deliver()
        return True

    def _deliver(self, batch: _Batch | None) -> None:
        if batch is None:
            self._done.close()
            self._ended.set_result(None)
        else:
            for job in batch:
                job.deliver()

    def _run(self) -> None:
        while not (self._last and self._jobs.empty() and not self._between):
            if commits := self._waiting_commits():
                self._write(commits)
            if self._between:
                self._write([self._between.popleft()])
        with contextlib.suppress(sqlite3.Error):
            self._connection.close()
        self._done.put(None)

    def _waiting_commits(self) -> _Batch:
        """Everything that waits is sorted; with nothing at all to do, the thread sleeps here."""
        commits: _Batch = []
        with contextlib.suppress(Empty):
            while len(commits) < _MOST:
                idle = not (commits or self._between or self._last)
                job = self._jobs.get(block=idle)
                if job is None:
                    self._last = True
                elif job.durable:
                    commits.append(job)
                else:
                    self._between.append(job)
        return commits

    def _write(self, batch: _Batch) -> None:
        try:
            self._transact(batch)
        except Exception as error:
            with contextlib.suppress(sqlite3.Error):
                self._connection.rollback()
            for job in batch:
                job.error = job.error or explain(error, self._path)
        self._done.put(batch)

    def _transact(self, batch: _Batch) -> None:
        self._flush_at_commit(batch[0].durable)
        started = time.monotonic()
        self._connection.execute("BEGIN IMMEDIATE")
        if len(batch) == 1:
            batch[0].result = batch[0].work(self._connection)
        else:
            for job in batch:
                self._attempt(job)
        self._connection.execute("COMMIT")
        if batch[0].durable:
            self._at_once.took(time.monotonic() - started)

    def _flush_at_commit(self, flush: bool) -> None:
        if flush != self._flushes:
            self._connection.execute(f"PRAGMA synchronous = {'FULL' if flush else 'NORMAL'}")
            self._flushes = flush

    def _attempt(self, job: _Job[Any]) -> None:
        self._connection.execute("SAVEPOINT job")
        try:
            job.result = job.work(self._connection)
        except Exception as error:
            if not self._connection.in_transaction:
                raise  # a full disk, for one, ends the transaction for all
            self._connection.execute("ROLLBACK TO job")
            job.error = explain(error, self._path)
        self._connection.execute("RELEASE job")
