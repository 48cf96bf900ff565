"""A drive: one run of an agent's open turn, and how it is retried. Also the error of engines."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence

from sapwood.core.errors import LogUnavailable, SapwoodError, SpaceMoved
from sapwood.core.ids import AgentId, Space
from sapwood.log_fields import within_fields

DriveFunction = Callable[[Space, AgentId], Awaitable[None]]
"""Runs one agent's open turn as far as possible."""

RETRY_AFTER = (1.0, 2.0, 4.0)
"""Seconds to wait before each retry. After the last one the agent rests until the next wake."""

LOG_RETRY_SECONDS = 1.0
"""Seconds to wait before each retry while the log's database cannot be reached."""

GiveUp = Callable[[Space, AgentId, int], Awaitable[None]]
"""Ends the turn of an agent in whose drives so many processes have died."""

_log = logging.getLogger("sapwood.engine")


class EngineError(SapwoodError):
    """An engine could not do what was asked. The log is not changed by the failure.

    >>> import asyncio
    >>> from sapwood.core.ids import AgentId, Space
    >>> from sapwood.engine import LocalEngine
    >>> async def wake_too_late() -> None:
    ...     engine = LocalEngine()
    ...     await engine.close()
    ...     await engine.wake(Space("main"), AgentId("ada"))
    >>> try:
    ...     asyncio.run(wake_too_late())
    ... except EngineError as error:
    ...     print(error)
    The engine is closed, so no agent was woken. Open another engine.
    """

    @classmethod
    def closed(cls) -> "EngineError":
        """The error for a call to an engine that is closed."""
        return cls("The engine is closed, so no agent was woken. Open another engine.")


class NotServed(EngineError):
    """A drive of a space that this worker does not serve. The engine gives it to another worker."""

    def __init__(self, space: Space) -> None:
        super().__init__(f"This worker does not serve the space '{space}'.")


async def drive_with_retries(
    drive: DriveFunction, space: Space, agent: AgentId, retry_after: Sequence[float] = RETRY_AFTER
) -> None:
    """Drives an agent, and repeats a drive that raises, up to `len(retry_after)` times.

    Repeating is safe because every drive starts by reading the log. While the log's database
    cannot be reached, the drive is repeated without limit. A drive of a space that was moved to
    another database ends. Returns after success or after the last
    failure, which is logged. Messages that are logged meanwhile have the fields `space` and
    `agent`. Raises only `NotServed`, and `CancelledError` when this task itself is cancelled.
    """
    with within_fields(space=space, agent=agent):
        await _drive_with_retries(drive, space, agent, retry_after)


async def _drive_with_retries(
    drive: DriveFunction, space: Space, agent: AgentId, retry_after: Sequence[float]
) -> None:
    pauses = iter((*retry_after, None))
    level = logging.WARNING
    while True:
        try:
            await drive(space, agent)
            return
        except NotServed:
            raise
        except SpaceMoved as moved:
            _log.info("Leaving agent '%s' to the workers of another cell: %s", agent, moved)
            return
        except LogUnavailable as problem:
            _log.info("Agent '%s' is waiting for the log: %s", agent, problem)
            await asyncio.sleep(LOG_RETRY_SECONDS)
        except (Exception, asyncio.CancelledError) as problem:
            if is_own_cancellation(problem):
                raise
            pause = next(pauses)
            if pause is None:
                _log.exception(
                    "Running agent '%s' failed; it waits until it is woken again.", agent
                )
                return
            reason = str(problem) or type(problem).__name__
            _log.log(level, "Running agent '%s' failed; retrying soon: %s", agent, reason)
            level = logging.INFO  # one warning per drive is enough
            await asyncio.sleep(pause)


def is_own_cancellation(problem: BaseException) -> bool:
    """True if this task was cancelled, not only something that the drive awaited."""
    task = asyncio.current_task()
    cancelled = isinstance(problem, asyncio.CancelledError)
    return cancelled and task is not None and task.cancelling() > 0


def log_given_up(agent: AgentId, deaths: int) -> None:
    """Logs that an agent is not driven any more, because of the deaths."""
    _log.error("Agent '%s' is no longer run: %d processes died while running it.", agent, deaths)


def log_suspect(agent: AgentId, deaths: int) -> None:
    """Logs that an agent may be the cause of deaths."""
    _log.warning(
        "Agent '%s' may end processes that run it: %d died while running it.", agent, deaths
    )
