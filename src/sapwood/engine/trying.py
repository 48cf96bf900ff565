"""One drive, tried again when it fails."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence

from sapwood.core.ids import AgentId, Space

__all__ = ["RETRY_AFTER", "Drive", "tried"]

Drive = Callable[[Space, AgentId], Awaitable[None]]
"""Takes one agent's open turn as far as it goes."""

RETRY_AFTER = (1.0, 2.0, 4.0)
"""Seconds before each new try. After the last an agent is left alone until it is woken again."""

_log = logging.getLogger("sapwood.engine")


async def tried(
    drive: Drive, space: Space, agent: AgentId, retry_after: Sequence[float] = RETRY_AFTER
) -> None:
    """Drives an agent. A drive that raises is repeated: it starts by reading the log."""
    for pause in (*retry_after, None):
        try:
            await drive(space, agent)
            return
        except (Exception, asyncio.CancelledError) as problem:
            if _meant_for_us(problem):
                raise
            if pause is None:
                _log.exception("Driving agent '%s' failed; it waits to be woken again.", agent)
            else:
                _log.warning("Driving agent '%s' failed, once more soon: %r", agent, problem)
                await asyncio.sleep(pause)


def _meant_for_us(problem: BaseException) -> bool:
    """Was this task cancelled, or did something inside the drive only look like it?"""
    task = asyncio.current_task()
    cancelled = isinstance(problem, asyncio.CancelledError)
    return cancelled and task is not None and task.cancelling() > 0
