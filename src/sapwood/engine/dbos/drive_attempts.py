"""The drives that run in this process. Belongs to the event loop in which agents run."""

import asyncio
import itertools
import logging
from collections import Counter
from collections.abc import Callable, Iterable
from contextvars import Context
from time import monotonic

from msgspec import Struct

from sapwood.core.ids import AgentId, Space
from sapwood.engine.dbos.engine_database import EngineDatabase
from sapwood.engine.drives import DriveFunction, NotServed, drive_with_retries
from sapwood.engine.limits import Intervals, KeyLimiter
from sapwood.engine.wake_database import Claim
from sapwood.engine.wake_requests import WakeRequest

_log = logging.getLogger("sapwood.engine")


class DriveAttempt(Struct, eq=False):
    """One try at a drive. While it is `driving`, its wake request is certain to exist."""

    request: WakeRequest
    holder: str
    task: asyncio.Task[None]
    driving: bool = False


class _Expected(Struct):
    """A drive of a request that this worker claims: with which claim, and when that was.

    Only a recent claim is trusted: later another worker may have the request. `is_queued` says
    whether the request has waited for a free place.
    """

    request: WakeRequest
    claim: Claim
    since: float
    is_queued: bool


class DriveAttempts:
    """Drives agents for their wake requests, and knows which drives run here."""

    def __init__(
        self,
        drive: DriveFunction,
        worker: str,
        database: EngineDatabase,
        limit: int,
        intervals: Intervals,
        on_end: Callable[[], None],
    ) -> None:
        self._drive = drive
        self._worker = worker
        self._database = database
        self._intervals = intervals
        self._on_end = on_end
        self._limiter = KeyLimiter(limit)
        self._numbers = itertools.count(1)
        self._closing = False
        self._expected: dict[str, _Expected] = {}
        self._begun: set[asyncio.Task[None]] = set()
        self._attempts: dict[tuple[Space, AgentId], DriveAttempt] = {}

    @property
    def started_here(self) -> int:
        """How many unfinished drives were started here without waiting for a place."""
        return sum(not each.is_queued for each in self._expected.values())

    def spaces(self) -> Counter[Space]:
        """How many agents of each space have a place here."""
        requests = [each.request for each in (*self._expected.values(), *self._attempts.values())]
        agents = {(each.space, each.agent) for each in requests}
        return Counter(space for space, _ in agents)

    def holders(self) -> set[str]:
        """The names under which this worker holds requests, or is about to claim them."""
        expected = {each.claim.holder for each in self._expected.values()}
        return expected | {each.holder for each in self._attempts.values()}

    def new_holder(self) -> str:
        """A unique name for an attempt."""
        return f"{self._worker}/{next(self._numbers)}"

    def expect(self, request: WakeRequest, claim: Claim, *, is_queued: bool = False) -> None:
        """Announces a drive whose request this worker is about to claim, or has claimed."""
        self._expected[request.drive] = _Expected(request, claim, monotonic(), is_queued)

    def begin(self, request: WakeRequest) -> None:
        """Begins an expected drive, without the context of the task that woke the agent."""
        loop = asyncio.get_running_loop()
        task = loop.create_task(self.run(request), context=Context())
        self._begun.add(task)
        task.add_done_callback(self._ended)

    def forget(self, request: WakeRequest) -> None:
        """Drops an expected drive whose request another worker has."""
        self._expected.pop(request.drive, None)

    def _ended(self, task: asyncio.Task[None]) -> None:
        """Logs the error of a drive. The heartbeat releases the request that it has left."""
        self._begun.discard(task)
        if not task.cancelled() and (problem := task.exception()):
            _log.info("The request of an agent is kept for later: %s", problem)

    async def run(self, request: WakeRequest) -> None:
        """Drives an agent until no new wake arrives."""
        task = asyncio.current_task()
        assert task is not None
        expected = self._expected.get(request.drive)
        holder = expected.claim.holder if expected else self.new_holder()
        attempt, wakes = DriveAttempt(request, holder, task), self._database.wakes
        try:
            await self._replace_older(attempt)
            async with self._limiter.slot(""):
                claim = await self._claimed(attempt, expected)
                while claim is not None:
                    await self._drive_once(attempt)
                    count = await wakes.finish(request, claim)
                    claim = None if count is None else Claim(holder, count)
        except NotServed:
            await wakes.release(request)
        finally:
            self._expected.pop(request.drive, None)
            if self._attempts.get((request.space, request.agent)) is attempt:
                del self._attempts[request.space, request.agent]
            self._on_end()

    async def _claimed(self, attempt: DriveAttempt, expected: _Expected | None) -> Claim | None:
        if expected is not None and monotonic() - expected.since < self._intervals.heartbeat:
            return expected.claim
        return await self._database.wakes.claim_drive(attempt.request, self._worker, attempt.holder)

    def running(self) -> list[DriveAttempt]:
        """The attempts that drive an agent at this moment."""
        return [attempt for attempt in self._attempts.values() if attempt.driving]

    def cancel(self, attempts: Iterable[DriveAttempt]) -> None:
        """Cancels those of the attempts that still drive; other workers have their agents now."""
        for attempt in attempts:
            if attempt.driving:
                attempt.task.cancel()

    async def close(self) -> None:
        """Cancels all drives and starts no more. An attempt between two drives ends by itself."""
        self._closing = True
        self.cancel(self._attempts.values())
        tasks = {*self._begun, *(each.task for each in self._attempts.values())}
        if tasks:
            await asyncio.wait(tasks, timeout=self._intervals.grace)

    async def _replace_older(self, attempt: DriveAttempt) -> None:
        """Enters an attempt. An older one for the same agent has lost its drive and ends first."""
        key = (attempt.request.space, attempt.request.agent)
        older = self._attempts.get(key)
        self._attempts[key] = attempt
        if older:
            self.cancel([older])
            await asyncio.wait([older.task], timeout=self._intervals.grace)

    async def _drive_once(self, attempt: DriveAttempt) -> None:
        if self._closing:
            raise asyncio.CancelledError  # another worker gets the request
        attempt.driving = True
        try:
            request, pauses = attempt.request, self._intervals.retry_after
            await drive_with_retries(self._drive, request.space, request.agent, pauses)
        finally:
            attempt.driving = False
