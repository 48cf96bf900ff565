"""The thread that writes. It stores all waiting commits in one transaction, with one flush.

Each commit is a savepoint, so a refused commit does not affect the others. A commit that arrives
alone is usually written on the event loop instead (`InlineWriter`). Work that can be repeated
(words to index, snapshots) is written between commits, one piece at a time and without a flush.
A caller may stop waiting at any time; the work that it submitted is still done.

Writes a single commit on the event loop, without the writer's thread, where the disk is fast.

Passing a commit to the thread and back costs as much as a flush on many machines. Where a flush
usually takes longer than a callback may, commits go to the thread.
"""

import asyncio
import contextlib
import os
import sqlite3
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from queue import Empty, SimpleQueue
from sqlite3 import Connection
from threading import Lock, Thread
from typing import Any, Generic, TypeVar, cast

from sapwood.store.master_keys import StoredKeys
from sapwood.store.sqlite.connections import closed_error, connect, set_flush, translate_error

T = TypeVar("T")

_MAX_JOBS = 500
"""Jobs in one transaction: enough to share the flush, few enough to answer soon."""


class ThreadToLoop(Generic[T]):
    """A queue from any thread to the event loop that created it. Keeps the order.

    `call_soon_threadsafe` does the same through a pair of sockets, which it reads until they are
    empty. That costs several system calls and an exception at every commit; here one read of a
    pipe is enough.
    """

    def __init__(self, receive: Callable[[T], None]) -> None:
        self._receive = receive
        self._items: deque[T] = deque()
        self._pipe_lock = Lock()
        self._read_end, self._write_end = os.pipe()
        os.set_blocking(self._read_end, False)
        os.set_blocking(self._write_end, False)
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._read_end, self._receive_all)

    def put(self, item: T) -> None:
        """Calls `receive` with the item on the event loop. Any thread may call this."""
        # The lock covers the write: without it the loop could receive the last item and close the
        # pipe first, and the byte would go to another file that got the same number.
        # A full pipe raises, and needs no further byte to wake the loop.
        with self._pipe_lock, contextlib.suppress(BlockingIOError):
            self._items.append(item)
            os.write(self._write_end, b"!")

    def close(self) -> None:
        """Closes the pipe. Call `put` no more after this."""
        with self._pipe_lock:
            self._loop.remove_reader(self._read_end)
            os.close(self._read_end)
            os.close(self._write_end)

    def _receive_all(self) -> None:
        os.read(self._read_end, 4096)
        while self._items:
            self._receive(self._items.popleft())


def _nothing() -> None: ...


class _Job(Generic[T]):
    """Work for the writer, and its result or error afterwards.

    It has a `future` once it was passed to the thread.
    """

    __slots__ = ("durable", "error", "future", "in_thread", "result", "then", "work")

    def __init__(
        self,
        work: Callable[[Connection], T],
        then: Callable[[], None],
        durable: bool,
        in_thread: bool,
    ) -> None:
        self.work = work
        self.in_thread = in_thread
        self.future: asyncio.Future[T] | None = None
        self.then = then
        self.durable = durable
        self.result: T | None = None
        self.error: Exception | None = None

    def deliver(self) -> None:
        if self.future and not self.future.done():  # otherwise the caller has stopped waiting
            if self.error is None:
                self.future.set_result(cast("T", self.result))
            else:
                self.future.set_exception(self.error)
        if self.error is None:
            self.then()


_Batch = list[_Job[Any]]


class Writer:
    """Owns the connection that writes. Use it only on the event loop that created it."""

    def __init__(self, connection: Connection, path: Path, keys: StoredKeys | None = None) -> None:
        self._connection = connection
        self._path = path
        self._loop = asyncio.get_running_loop()
        self._inline = InlineWriter(path, keys)
        self._submitted: _Batch = []
        self._jobs: SimpleQueue[_Job[Any] | None] = SimpleQueue()
        self._done: ThreadToLoop[_Batch | None] = ThreadToLoop(self._deliver)
        self._ended = self._loop.create_future()
        self._closed = False
        self._between: deque[_Job[Any]] = deque()
        self._closing = False
        self._flushes_at_commit = True
        # A daemon thread, so that a process that forgets `close` can still exit. Acknowledged
        # commits are on disk; SQLite rolls an unfinished transaction back.
        Thread(target=self._run, name="sapwood-writer", daemon=True).start()

    async def run(
        self,
        work: Callable[[Connection], T],
        then: Callable[[], None] = _nothing,
        *,
        durable: bool = True,
        in_thread: bool = False,
    ) -> T:
        """Runs `work` in a transaction and returns its result; calls `then` after the commit.

        With `durable=False` the transaction is not flushed to disk: for work that can be repeated.
        Work with `in_thread=True` is never done on the event loop: for large commits.
        Raises what `work` raises, or `LogError` if the log is closed or SQLite fails.
        """
        if self._closed:
            raise closed_error()
        job = _Job(work, then, durable, in_thread)
        self._submitted.append(job)
        try:
            await asyncio.sleep(0)  # until everybody else has submitted what they have now
        except BaseException:
            self._start_submitted()
            if job.future:
                job.future.cancel()
            raise
        if job.future is None:
            if self._submitted == [job] and self._done_inline(job):
                return cast("T", job.result)
            self._start_submitted()
        return await cast("asyncio.Future[T]", job.future)

    async def close(self) -> None:
        """Finishes all submitted work, then closes the file."""
        if not self._closed:
            self._closed = True
            self._start_submitted()
            self._inline.close()
            self._jobs.put(None)
        await asyncio.shield(self._ended)

    def _start_submitted(self) -> None:
        """Passes the submitted jobs to the thread."""
        submitted, self._submitted = self._submitted, []
        for job in submitted:
            job.future = self._loop.create_future()
            self._jobs.put(job)

    def _done_inline(self, job: _Job[Any]) -> bool:
        """Does the only submitted job here, if the disk is fast; returns whether it was done."""
        if job.in_thread or not (job.durable and self._inline.is_fast):
            return False
        self._submitted.clear()
        try:
            job.result = self._inline.run(job.work)
        except WriteLockBusy:
            self._submitted.append(job)
            return False
        except Exception as error:
            raise translate_error(error, self._path)  # noqa: B904 # `translate_error` sets the cause
        job.then()
        return True

    def _deliver(self, batch: _Batch | None) -> None:
        if batch is None:
            self._done.close()
            self._ended.set_result(None)
        else:
            for job in batch:
                job.deliver()

    def _run(self) -> None:
        while not (self._closing and self._jobs.empty() and not self._between):
            if commits := self._waiting_commits():
                self._write(commits)
            if self._between:
                self._write([self._between.popleft()])
        with contextlib.suppress(sqlite3.Error):
            self._connection.close()
        self._done.put(None)

    def _waiting_commits(self) -> _Batch:
        """Takes waiting jobs from the queue and returns the commits among them.

        Blocks while there is nothing to do.
        """
        commits: _Batch = []
        with contextlib.suppress(Empty):
            while len(commits) < _MAX_JOBS:
                idle = not (commits or self._between or self._closing)
                job = self._jobs.get(block=idle)
                if job is None:
                    self._closing = True
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
                job.error = job.error or translate_error(error, self._path)
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
            self._inline.record_duration(time.monotonic() - started)

    def _flush_at_commit(self, flush: bool) -> None:
        if flush != self._flushes_at_commit:
            set_flush(self._connection, self._path, flush)
            self._flushes_at_commit = flush

    def _attempt(self, job: _Job[Any]) -> None:
        self._connection.execute("SAVEPOINT job")
        try:
            job.result = job.work(self._connection)
        except Exception as error:
            if not self._connection.in_transaction:
                raise  # SQLite ended the whole transaction, as it does when the disk is full
            self._connection.execute("ROLLBACK TO job")
            job.error = translate_error(error, self._path)
        self._connection.execute("RELEASE job")


_FAST_SECONDS = 0.001
"""How long a transaction may block the event loop; drawing one screen takes longer."""

_LATEST_WEIGHT = 0.25
"""The weight of the latest transaction in the moving average."""


class WriteLockBusy(Exception):
    """Another connection is writing. Give the work to the writer's thread, which can wait."""


class InlineWriter:
    """A connection for the event loop. It never waits for a lock."""

    def __init__(self, path: Path, keys: StoredKeys | None = None) -> None:
        self._path = path
        self._keys = keys
        self._connection: Connection | None = None
        self._average_seconds = 2 * _FAST_SECONDS

    @property
    def is_fast(self) -> bool:
        """Whether recent transactions were fast enough to run on the event loop."""
        return self._average_seconds < _FAST_SECONDS

    def record_duration(self, seconds: float) -> None:
        """Adds the duration of a transaction, written here or by the thread, to the average."""
        self._average_seconds += (seconds - self._average_seconds) * _LATEST_WEIGHT

    def run(self, work: Callable[[Connection], T]) -> T:
        """Runs the work in a durable transaction and returns its result.

        Raises `WriteLockBusy`, before anything was done, while another connection is writing.
        """
        started = time.monotonic()
        connection = self._begin()
        try:
            result = work(connection)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        self.record_duration(time.monotonic() - started)
        return result

    def close(self) -> None:
        """Closes the file."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _begin(self) -> Connection:
        if self._connection is None:
            self._connection = connect(self._path, busy_seconds=0, keys=self._keys)
        try:
            self._connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY:
                raise WriteLockBusy from error
            raise
        return self._connection
