"""Group commit: commits that arrive while the database is busy are stored together.

A commit that finds a free connection is sent at once, by the task that submitted it. All others
wait for the next batch, which is one statement and one flush of the disk. If a batch is refused,
its jobs are stored one by one, so that each gets its own result.
"""

import asyncio
from collections.abc import Callable, Coroutine, Sequence

from sapwood.core.ids import CommandId, Space
from sapwood.core.log_values import Commit, LogError, Receipt
from sapwood.store.postgres.appender import Appender
from sapwood.store.postgres.commit_queue import CommitJob, KeyedQueue, job_of
from sapwood.store.postgres.connections import (
    DRIVER_ERRORS,
    Server,
    is_connection_loss,
    is_temporary,
    log_error,
)
from sapwood.store.space_cipher import SpaceCipher

_CLOSED = "The log is closed. Nothing was stored. Open it again to continue."
_UNCERTAIN = (
    "It is unknown whether the commit was stored. Repeat the same command when the server is "
    "back; it takes effect only once."
)
_NOTHING_STORED = "Nothing was stored."
_FIRST_PAUSE, _MAX_PAUSE = 0.01, 1.0


class WriterPool:
    """A few connections that append, and the queue of jobs that wait for them."""

    def __init__(
        self, server: Server, size: int, on_stored: Callable[[Sequence[CommitJob]], None]
    ) -> None:
        self._server = server
        self._on_stored = on_stored
        self._queue = KeyedQueue(size)
        self._all = tuple(_Writer(server) for _ in range(size))
        self._free = list(self._all)
        self._freed = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False

    async def commit(
        self, space: Space, commit: Commit, cipher: SpaceCipher | None = None
    ) -> Receipt | None:
        """Stores the commit and returns None, or returns the earlier receipt of its command.

        Raises `KeyChanged` if the space has another key than that of the cipher,
        `VersionConflict` if an agent is not at its expected version, and `LogError` if the
        log is closed or the server does not answer in time.
        """
        if self._closed:
            raise LogError(_CLOSED)
        deadline = asyncio.get_running_loop().time() + self._server.patience
        job = job_of(space, commit, deadline, cipher)
        self._queue.add(job)
        if self._free and len(self._queue.ready) == 1 and not job.blocked:
            # Without a task, this saves two rounds of the event loop: a tenth of a commit.
            await self._store_ready(self._free.pop(), once=True)
        else:
            self._start_free_writers()
        return await job.done

    async def ended(self, space: Space, command: CommandId) -> None:
        """Waits until no commit of this command is being stored, also if its caller has left."""
        while (job := self._queue.last(("command", space, command))) is not None:
            await job.ended.wait()

    async def close(self) -> None:
        """Waits for all submitted commits, then closes every connection."""
        self._closed = True
        while len(self._free) < len(self._all):
            self._freed.clear()
            await self._freed.wait()
        for writer in self._all:
            await writer.close()

    def _start_free_writers(self) -> None:
        """Starts a task for each free writer, as long as there are ready jobs."""
        while self._free and self._queue.ready:
            self._start(self._store_ready(self._free.pop()))

    def _start(self, work: Coroutine[object, object, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _store_ready(self, writer: "_Writer", *, once: bool = False) -> None:
        batch: Sequence[CommitJob] = ()
        try:
            while batch := self._queue.next_batch():
                await self._store_batch(writer, batch)
                self._remove(batch)
                if once:
                    break
                # Let the callers run: their next commits can join the next batch.
                await asyncio.sleep(0)
        except asyncio.CancelledError:  # the caller of a commit stopped waiting in the middle
            self._start(self._free_at_rest(writer, batch))
            raise
        self._set_free(writer)

    async def _free_at_rest(self, writer: "_Writer", batch: Sequence[CommitJob]) -> None:
        """Frees a writer when the server has ended what it was told to cancel, or has stored it."""
        try:
            await writer.rest()
        finally:
            self._remove(batch)
            self._set_free(writer)
            self._report_stored(batch)

    def _set_free(self, writer: "_Writer") -> None:
        self._free.append(writer)
        self._freed.set()
        self._start_free_writers()

    def _remove(self, batch: Sequence[CommitJob]) -> None:
        for job in batch:
            if not job.ended.is_set():
                self._queue.remove(job)

    def _report_stored(self, jobs: Sequence[CommitJob]) -> None:
        if stored := [job for job in jobs if _may_be_stored(job)]:
            self._on_stored(stored)

    async def _store_batch(self, writer: "_Writer", batch: Sequence[CommitJob]) -> None:
        """Stores the jobs of a batch. Every job has a result or an error afterwards."""
        wanted = [job for job in batch if not job.done.cancelled()]
        try:
            uncertain = False
            if len(wanted) > 1:
                uncertain = await writer.store_together(wanted)
            for job in wanted:
                if not job.done.done():
                    _finish(job, await writer.store_alone(job, uncertain))
        except Exception as problem:
            for job in wanted:
                _finish(job, problem)
        finally:
            for job in batch:
                job.done.cancel()  # has no effect if the future is done
            # Not at once, so that the callers continue before followers are woken.
            asyncio.get_running_loop().call_soon(self._report_stored, wanted)


def _finish(job: CommitJob, end: Receipt | Exception | None) -> None:
    if job.done.done():
        return  # the caller has stopped waiting
    if isinstance(end, Exception):
        job.done.set_exception(end)
    else:
        job.done.set_result(end)


def _may_be_stored(job: CommitJob) -> bool:
    return job.done.cancelled() or not (job.done.exception() or job.done.result())


class _Writer:
    """One connection for appending. It is opened on first use, and again after a loss."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._appender: Appender | None = None

    async def store_together(self, jobs: Sequence[CommitJob]) -> bool:
        """Stores and finishes all jobs, or none. Returns True if the result is unknown."""
        try:
            appender = await self._open_appender()
        except DRIVER_ERRORS:
            return False
        try:
            stored = await appender.append(jobs)
        except DRIVER_ERRORS as error:
            self._drop_if_lost(error)
            return is_connection_loss(error)
        self._server.availability.answered()
        if stored:
            for job in jobs:
                _finish(job, None)
        return False

    async def store_alone(self, job: CommitJob, uncertain: bool) -> Receipt | LogError | None:
        """Stores one job. Returns None, the earlier receipt of its command, or an error.

        Repeats it after a temporary error until the deadline of the job. If `uncertain`, an
        attempt before may have stored the job on a connection that was then lost. The stored
        receipt is then the job's own, and None is returned.
        """
        pause = _FIRST_PAUSE
        while True:
            sent, problem = False, "the commit was refused, but the log has no conflict with it"
            try:
                appender = await self._open_appender()
                sent = True
                stored = await appender.append((job,))
                self._server.availability.answered()
                if stored:
                    return None
                sent = False
                if end := await appender.diagnose(job):
                    return None if uncertain and end in job.commit.receipts else end
            except DRIVER_ERRORS as error:
                self._drop_if_lost(error)
                uncertain = uncertain or (sent and is_connection_loss(error))
                if not is_temporary(error):
                    return log_error(error, _NOTHING_STORED)
                problem = error
            if asyncio.get_running_loop().time() + pause > job.deadline:
                return log_error(problem, _UNCERTAIN if uncertain else _NOTHING_STORED)
            await asyncio.sleep(pause)
            pause = min(2 * pause, _MAX_PAUSE)

    async def rest(self) -> None:
        """Returns when the server has ended the last statement, also if it was cancelled."""
        if self._appender is not None:
            try:  # the driver waits for that statement before it sends another one
                await self._appender.connection.execute("")
            except DRIVER_ERRORS as error:
                self._drop_if_lost(error)

    async def close(self) -> None:
        """Closes the connection."""
        if self._appender:
            appender, self._appender = self._appender, None
            await appender.connection.close()

    async def _open_appender(self) -> Appender:
        if self._appender is None or self._appender.connection.is_closed():
            self._appender = await Appender.prepare(await self._server.connect())
        return self._appender

    def _drop_if_lost(self, error: BaseException) -> None:
        if not is_connection_loss(error):
            return
        self._server.availability.lost(error)
        if self._appender:
            self._appender.connection.terminate()
            self._appender = None
