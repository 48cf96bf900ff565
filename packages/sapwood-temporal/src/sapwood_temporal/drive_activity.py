"""The activity that drives an agent, in a worker. Temporal retries it and moves it to others."""

import asyncio
import logging
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

from temporalio import activity
from temporalio.client import AsyncActivityCancelledError
from temporalio.exceptions import ApplicationError, ApplicationErrorCategory
from temporalio.service import RPCError

from sapwood.core.errors import LogUnavailable
from sapwood.core.ids import AgentId, Space
from sapwood.engine import drives
from sapwood.engine.drives import DriveFunction, NotServed
from sapwood.engine.limits import DriveLimits, Intervals
from sapwood.log_fields import within_fields
from sapwood_temporal.workflow_values import (
    DRIVE,
    LIMITS,
    DriveOrder,
    Limit,
    LimitQuery,
)

_AT_ONCE = 0.001
_FRESH_SECONDS = 1.0
_MIN_SECONDS, _MAX_SECONDS = 0.1, 3.0
_log = logging.getLogger("sapwood.engine")


class DriveActivity:
    """Drives agents, and knows which drives run in this process."""

    def __init__(self, drive: DriveFunction, limits: DriveLimits, intervals: Intervals) -> None:
        self._drive = drive
        self._limits = limits
        self._intervals = intervals
        self._running: dict[tuple[str, str], asyncio.Task[None]] = {}
        self._closing = False

    def close(self) -> None:
        """The worker stops: Temporal gives the drives that are cancelled now to other workers."""
        self._closing = True

    @activity.defn(name=DRIVE)
    async def drive(self, order: DriveOrder) -> None:
        """Drives one agent until it has nothing more to do.

        How often it failed is kept in the details of the heartbeat, because Temporal's number of
        attempts also counts workers that died.
        """
        with within_fields(space=order.space, agent=order.agent):
            await self._run(order)

    async def _run(self, order: DriveOrder) -> None:
        details = activity.info().heartbeat_details
        failures = int(details[0]) if details else 0
        await _require_current(failures)
        await self._wait_for_older(order)
        self._require_room(order)
        try:
            with self._shown_alive(order, failures):
                await self._drive(Space(order.space), AgentId(order.agent))
        except NotServed as problem:
            raise _retry(str(problem), _pause_elsewhere()) from None
        except LogUnavailable as problem:
            _log.info("Agent '%s' is waiting for the log: %s", order.agent, problem)
            raise _retry(str(problem), drives.LOG_RETRY_SECONDS) from None
        except (Exception, asyncio.CancelledError) as problem:
            if drives.is_own_cancellation(problem):
                if self._closing:
                    raise _retry("The worker is stopping.", _AT_ONCE) from None
                raise
            raise self._failure(order, failures, problem) from None

    @activity.defn(name=LIMITS)
    async def limits(self, query: LimitQuery) -> list[Limit]:
        """The limits that a drive counts for, in the order in which it waits for them."""
        limits: list[Limit] = []
        if self._limits.per_user:
            limits.append(Limit(f"user:{query.space}/{query.user}", self._limits.per_user))
        if self._limits.per_model:
            limits.append(Limit(f"model:{query.model}", self._limits.per_model))
        if self._limits.per_space:
            limits.append(Limit(f"space:{query.space}", self._limits.per_space))
        return limits

    def _require_room(self, order: DriveOrder) -> None:
        """Gives the drive back if its space has its share of this worker already.

        Temporal gives free places to all spaces in turn, and cannot keep some of them free.
        """
        running = sum(space == order.space for space, _ in self._running)
        if self._limits.share and running >= self._limits.share:
            share = f"The space '{order.space}' has used up its share of this worker."
            raise _retry(share, _pause_elsewhere())

    def _failure(
        self, order: DriveOrder, failures: int, problem: BaseException
    ) -> ApplicationError:
        """Asks Temporal for a retry, or for none if there were enough."""
        reason = str(problem) or type(problem).__name__
        if failures >= len(self._intervals.retry_after):
            _log.error(
                "Running agent '%s' failed; it waits until it is woken again.",
                order.agent,
                exc_info=problem,
            )
            return ApplicationError(reason, type=type(problem).__name__, non_retryable=True)
        activity.heartbeat(failures + 1)
        level = logging.INFO if failures else logging.WARNING  # one warning per drive is enough
        _log.log(level, "Running agent '%s' failed; retrying soon: %s", order.agent, reason)
        return _retry(reason, self._intervals.retry_after[failures])

    async def _wait_for_older(self, order: DriveOrder) -> None:
        """Ends an older try at this agent here: Temporal took it for dead and started this one."""
        older = self._running.get((order.space, order.agent))
        if older is not None:
            older.cancel()
            await asyncio.wait([older], timeout=self._intervals.grace)

    @contextmanager
    def _shown_alive(self, order: DriveOrder, failures: int) -> Generator[None]:
        """Sends heartbeats inside the block."""
        task = asyncio.current_task()
        assert task is not None
        self._running[order.space, order.agent] = task
        beating = asyncio.create_task(self._beat(failures))
        try:
            yield
        finally:
            beating.cancel()
            if self._running.get((order.space, order.agent)) is task:
                del self._running[order.space, order.agent]

    async def _beat(self, failures: int) -> None:
        while True:
            activity.heartbeat(failures)
            await asyncio.sleep(self._intervals.heartbeat)


async def _require_current(failures: int) -> None:
    """Raises if Temporal has given this try to another worker in the meantime.

    A process that was stopped finds old tries in its connection when it goes on. Only a try that
    took long to get here is checked, with one call to the server.
    """
    info = activity.info()
    age = (datetime.now(UTC) - info.started_time).total_seconds()
    if abs(age) < _FRESH_SECONDS:
        return
    handle = activity.client().get_async_activity_handle(task_token=info.task_token)
    try:
        await handle.heartbeat(failures)
    except (RPCError, AsyncActivityCancelledError) as problem:
        raise ApplicationError(
            f"The agent no longer runs here: {problem}",
            category=ApplicationErrorCategory.BENIGN,
        ) from None


def _pause_elsewhere() -> float:
    """Seconds until a drive that this worker does not run is offered to a worker again."""
    return min(_MIN_SECONDS * 1.3 ** min(activity.info().attempt, 20), _MAX_SECONDS)


def _retry(reason: str, pause: float) -> ApplicationError:
    return ApplicationError(
        reason,
        next_retry_delay=timedelta(seconds=pause),
        category=ApplicationErrorCategory.BENIGN,
    )
