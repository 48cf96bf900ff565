"""One drive, tried again when it fails."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence

from sapwood.core.errors import LogAway
from sapwood.core.ids import AgentId, Space

__all__ = ["RETRY_AFTER", "Drive", "tried"]

Drive = Callable[[Space, AgentId], Awaitable[None]]
"""Takes one agent's open turn as far as it goes."""

RETRY_AFTER = (1.0, 2.0, 4.0)
"""Seconds before each new try. After the last an agent is left alone until it is woken again."""

_AWAY = 1.0
_log = logging.getLogger("sapwood.engine")


async def tried(
    drive: Drive, space: Space, agent: AgentId, retry_after: Sequence[float] = RETRY_AFTER
) -> None:
    """Drives an agent. A drive that raises is repeated: it starts by reading the log.

    A log that is away is tried for as long as that lasts.
    """
    pauses = iter((*retry_after, None))
    level = logging.WARNING
    while True:
        try:
            await drive(space, agent)
            return
        except LogAway as problem:
            _log.info("Driving agent '%s' waits for the log: %s", agent, problem)
            await asyncio.sleep(_AWAY)
        except (Exception, asyncio.CancelledError) as problem:
            if _meant_for_us(problem):
                raise
            pause = next(pauses)
            if pause is None:
                _log.exception("Driving agent '%s' failed; it waits to be woken again.", agent)
                return
            told = str(problem) or type(problem).__name__
            _log.log(level, "Driving agent '%s' failed, once more soon: %s", agent, told)
            level = logging.INFO  # whoever watches was told
            await asyncio.sleep(pause)


def _meant_for_us(problem: BaseException) -> bool:
    """Was this task cancelled, or did something inside the drive only look like it?"""
    task = asyncio.current_task()
    cancelled = isinstance(problem, asyncio.CancelledError)
    return cancelled and task is not None and task.cancelling() > 0
