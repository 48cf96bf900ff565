"""The activity that drives an agent, in a worker. Temporal retries it and moves it to others."""

import asyncio
import logging
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

from msgspec import Struct
from temporalio import activity
from temporalio.client import AsyncActivityCancelledError
from temporalio.exceptions import ApplicationError, ApplicationErrorCategory
from temporalio.service import RPCError

from sapwood.core.errors import LogUnavailable
from sapwood.core.ids import AgentId, Space
from sapwood.engine import drives
from sapwood.engine.drives import (
    DriveFunction,
    GiveUp,
    NotServed,
    log_given_up,
    log_suspect,
)
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

    def __init__(
        self,
        drive: DriveFunction,
        limits: DriveLimits,
        intervals: Intervals,
        give_up: GiveUp | None = None,
    ) -> None:
        self._drive = drive
        self._give_up = give_up
        self._limits = limits
        self._intervals = intervals
        self._running: dict[tuple[str, str], asyncio.Task[None]] = {}
        self._suspects: set[tuple[str, str]] = set()
        self._closing = False

    def close(self) -> None:
        """The worker stops: Temporal gives the drives that are cancelled now to other workers."""
        self._closing = True

    @activity.defn(name=DRIVE)
    async def drive(self, order: DriveOrder) -> None:
        """Drives one agent until it has nothing more to do.

        The details of the heartbeat have how often it failed and how many processes died while they
        drove it, because Temporal's number of attempts also counts tries that were given back.
        """
        with within_fields(space=order.space, agent=order.agent):
            await self._run(order)

    async def _run(self, order: DriveOrder) -> None:
        before = _Tries.of_last_heartbeat()
        key = (order.space, order.agent)
        tries = before if key in self._running else before.after_last()
        await self._wait_for_older(order)
        self._require_room(order, tries)
        with self._held_here(order, tries):  # before anything is awaited: the others count it
            await _require_current(tries)
            await self._run_current(order, tries)

    async def _run_current(self, order: DriveOrder, tries: "_Tries") -> None:
        """Drives the agent, or ends its turn after too many deaths. Errors are for Temporal."""
        try:
            with _shown_alive(tries, self._intervals.heartbeat):
                if self._give_up is not None and self._limits.is_deadly(tries.deaths):
                    log_given_up(AgentId(order.agent), tries.deaths)
                    await self._give_up(Space(order.space), AgentId(order.agent), tries.deaths)
                else:
                    if self._limits.is_suspect(tries.deaths):
                        log_suspect(AgentId(order.agent), tries.deaths)
                    await self._drive(Space(order.space), AgentId(order.agent))
        except NotServed as problem:
            tries.send_ended()
            raise _retry(str(problem), _pause_elsewhere()) from None
        except LogUnavailable as problem:
            tries.send_ended()
            _log.info("Agent '%s' is waiting for the log: %s", order.agent, problem)
            raise _retry(str(problem), drives.LOG_RETRY_SECONDS) from None
        except (Exception, asyncio.CancelledError) as problem:
            if drives.is_own_cancellation(problem):
                if self._closing:
                    tries.send_ended()
                    raise _retry("The worker is stopping.", _AT_ONCE) from None
                raise
            raise self._failure(order, tries, problem) from None

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

    def _require_room(self, order: DriveOrder, tries: "_Tries") -> None:
        """Gives the drive back if its space has its share of this worker already.

        Temporal gives free places to all spaces in turn, and cannot keep some of them free. Agents
        in whose drives processes died are driven one at a time, so that the next death shows which
        one is the cause.
        """
        if self._suspects and self._limits.is_suspect(tries.deaths):
            tries.send_ended()
            raise _retry("Another agent that may end this worker runs.", _pause_elsewhere())
        running = sum(space == order.space for space, _ in self._running)
        if self._limits.share and running >= self._limits.share:
            tries.send_ended()
            share = f"The space '{order.space}' has used up its share of this worker."
            raise _retry(share, _pause_elsewhere())

    def _failure(
        self, order: DriveOrder, tries: "_Tries", problem: BaseException
    ) -> ApplicationError:
        """Asks Temporal for a retry, or for none if there were enough."""
        failures, reason = tries.failures, str(problem) or type(problem).__name__
        if failures >= len(self._intervals.retry_after):
            _log.error(
                "Running agent '%s' failed; it waits until it is woken again.",
                order.agent,
                exc_info=problem,
            )
            return ApplicationError(reason, type=type(problem).__name__, non_retryable=True)
        _Tries(failures + 1, tries.deaths).send_ended()
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
    def _held_here(self, order: DriveOrder, tries: "_Tries") -> Generator[None]:
        """Counts the drive as one of this worker inside the block."""
        task = asyncio.current_task()
        assert task is not None
        key = (order.space, order.agent)
        self._running[key] = task
        if self._limits.is_suspect(tries.deaths):
            self._suspects.add(key)
        try:
            yield
        finally:
            if self._running.get(key) is task:
                del self._running[key]
                self._suspects.discard(key)


class _Tries(Struct, frozen=True):
    """How often a drive failed, and how many processes died in it.

    Whoever drives says so in each heartbeat, and that it ended if it can. A version without deaths
    sends only the first number, and the count begins anew.
    """

    failures: int = 0
    deaths: int = 0
    is_driven: bool = False

    @classmethod
    def of_last_heartbeat(cls) -> "_Tries":
        """What the try before this one has sent."""
        details = activity.info().heartbeat_details
        failures, deaths, is_driven = (*details, *(0, 0, False)[len(details) :])
        return cls(int(failures), int(deaths), bool(is_driven))

    def after_last(self) -> "_Tries":
        """With one more death if the try before has not said that it ended."""
        return _Tries(self.failures, self.deaths + self.is_driven)

    def send_driven(self) -> None:
        """Tells the server that the drive lasts."""
        activity.heartbeat(self.failures, self.deaths, True)

    def send_ended(self) -> None:
        """Tells the server that the try ends, and not by a death."""
        activity.heartbeat(self.failures, self.deaths, False)


@contextmanager
def _shown_alive(tries: _Tries, interval: float) -> Generator[None]:
    """Sends heartbeats inside the block."""
    beating = asyncio.create_task(_beat(tries, interval))
    try:
        yield
    finally:
        beating.cancel()


async def _beat(tries: _Tries, interval: float) -> None:
    while True:
        tries.send_driven()
        await asyncio.sleep(interval)


async def _require_current(tries: _Tries) -> None:
    """Raises if Temporal has given this try to another worker in the meantime.

    A process that was stopped finds old tries in its connection when it continues. Only a try that
    took long to get here is checked, with one call to the server; and one that comes after another,
    so that the server knows of it before it can end the process.
    """
    info = activity.info()
    age = (datetime.now(UTC) - info.started_time).total_seconds()
    if abs(age) < _FRESH_SECONDS and info.attempt == 1:
        return
    handle = activity.client().get_async_activity_handle(task_token=info.task_token)
    try:
        await handle.heartbeat(tries.failures, tries.deaths, True)
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
