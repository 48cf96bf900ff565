"""Group commit: what comes while the database is busy goes to it together.

A commit that finds a session free is sent at once, from the task that asked for it. All others
wait and travel with the next batch, in one statement and one flush of the disk. A batch that is
refused falls apart into its jobs, so that each of them meets its own end.
"""

import asyncio
from collections.abc import Callable, Sequence

from sapwood.core.ids import Space
from sapwood.core.log import Commit, LogError, Receipt
from sapwood.store.postgres.appending import Appender
from sapwood.store.postgres.faults import FAULTS, is_lost, passes, refused
from sapwood.store.postgres.job import Job, job_of
from sapwood.store.postgres.lanes import Lanes
from sapwood.store.postgres.sessions import Server

__all__ = ["Writers"]

_CLOSED = "The log is closed. Nothing was stored. Open it again to go on."
_UNCERTAIN = (
    "Whether the commit was stored is not known. Give the same command again when the server is "
    "back: it acts once."
)
_NOTHING = "Nothing was stored."
_FIRST_PAUSE, _LONGEST_PAUSE = 0.01, 1.0


class Writers:
    """A few sessions that append, and the jobs that wait for one of them."""

    def __init__(
        self, server: Server, size: int, published: Callable[[Sequence[Job]], None]
    ) -> None:
        self._server = server
        self._published = published
        self._lanes = Lanes(size)
        self._all = tuple(_Writer(server) for _ in range(size))
        self._free = list(self._all)
        self._freed = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False

    async def commit(self, space: Space, commit: Commit) -> Receipt | None:
        """Stores the commit, or returns the earlier receipt, or raises."""
        if self._closed:
            raise LogError(_CLOSED)
        deadline = asyncio.get_running_loop().time() + self._server.patience
        job = job_of(space, commit, deadline)
        self._lanes.enter(job)
        if self._free and len(self._lanes.ready) == 1 and not job.blocked:
            # Two turns of the event loop less than with a task, which is a tenth of a commit.
            await self._drain(self._free.pop(), once=True)
        else:
            self._start()
        return await job.done

    async def close(self) -> None:
        """Finishes what was begun, then closes."""
        self._closed = True
        while len(self._free) < len(self._all):
            self._freed.clear()
            await self._freed.wait()
        for writer in self._all:
            await writer.close()

    def _start(self) -> None:
        """Has every free session take a batch, as long as there is one."""
        while self._free and self._lanes.ready:
            task = asyncio.create_task(self._drain(self._free.pop()))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _drain(self, writer: "_Writer", *, once: bool = False) -> None:
        try:
            while batch := self._lanes.take():
                await self._settle(writer, batch)
                if once:
                    break
                # Whoever was answered now may have more to store, which then goes along.
                await asyncio.sleep(0)
        finally:
            self._free.append(writer)
            self._freed.set()
            self._start()

    def _publish(self, jobs: Sequence[Job]) -> None:
        if stored := [job for job in jobs if _may_be_stored(job)]:
            self._published(stored)

    async def _settle(self, writer: "_Writer", batch: Sequence[Job]) -> None:
        """Brings every job of a batch to its end, whatever happens."""
        wanted = [job for job in batch if not job.done.cancelled()]
        try:
            uncertain = False
            if len(wanted) > 1:
                uncertain = await writer.together(wanted)
            for job in wanted:
                if not job.done.done():
                    _end(job, await writer.alone(job, uncertain))
        except Exception as problem:
            for job in wanted:
                _end(job, problem)
        finally:
            for job in batch:
                self._lanes.leave(job)
                job.done.cancel()  # without effect on a job that has its end
            # Soon, and not first: whoever asked goes on while others are told.
            asyncio.get_running_loop().call_soon(self._publish, wanted)


def _end(job: Job, end: Receipt | Exception | None) -> None:
    if job.done.done():
        return  # whoever asked has stopped waiting
    if isinstance(end, Exception):
        job.done.set_exception(end)
    else:
        job.done.set_result(end)


def _may_be_stored(job: Job) -> bool:
    return job.done.cancelled() or not (job.done.exception() or job.done.result())


class _Writer:
    """One session, opened when it is first needed and again after it was lost."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._appender: Appender | None = None

    async def together(self, jobs: Sequence[Job]) -> bool:
        """Stores and ends all jobs, or none of them. True if it is uncertain which."""
        try:
            appender = await self._ready()
        except FAULTS:
            return False
        try:
            stored = await appender.append(jobs)
        except FAULTS as fault:
            self._drop_if_lost(fault)
            return is_lost(fault)
        self._server.presence.answered()
        if stored:
            for job in jobs:
                _end(job, None)
        return False

    async def alone(self, job: Job, uncertain: bool) -> Receipt | LogError | None:
        """The end of one job: None if it is stored now, its earlier receipt, or what to raise.

        An uncertain job may have been stored in a session that was lost before it could say so;
        the receipt that is found is then its own.
        """
        pause = _FIRST_PAUSE
        while True:
            sent, problem = False, "it was refused, but not for long"
            try:
                appender = await self._ready()
                sent = True
                stored = await appender.append((job,))
                self._server.presence.answered()
                if stored:
                    return None
                sent = False
                if end := await appender.diagnose(job):
                    return None if uncertain and end in job.commit.receipts else end
            except FAULTS as fault:
                self._drop_if_lost(fault)
                uncertain = uncertain or (sent and is_lost(fault))
                if not passes(fault):
                    return refused(fault, _NOTHING)
                problem = fault
            if asyncio.get_running_loop().time() + pause > job.deadline:
                return refused(problem, _UNCERTAIN if uncertain else _NOTHING)
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    async def close(self) -> None:
        """Ends the session."""
        if self._appender:
            appender, self._appender = self._appender, None
            await appender.session.close()

    async def _ready(self) -> Appender:
        if self._appender is None or self._appender.session.is_closed():
            self._appender = await Appender.on(await self._server.connect())
        return self._appender

    def _drop_if_lost(self, fault: BaseException) -> None:
        if not is_lost(fault):
            return
        self._server.presence.lost()
        if self._appender:
            self._appender.session.terminate()
            self._appender = None
