"""How many agents are driven at once, and how often the durable engine looks for work."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from msgspec import Struct

from sapwood.engine.drives import RETRY_AFTER

__all__ = ["DriveLimits", "Intervals", "KeyLimiter"]


class DriveLimits(Struct, frozen=True):
    """How many drives may run at once: in one worker, for one model, and for one user.

    The limits for models and users count the drives of all workers. All workers of a database must
    have the same limits. None means no limit.

    >>> DriveLimits(per_user=3)
    DriveLimits(per_worker=500, per_model=None, per_user=3)
    """

    per_worker: int = 500
    per_model: int | None = None
    per_user: int | None = None


class Intervals(Struct, frozen=True):
    """How often the durable engine acts, in seconds. The same for all workers of a database.

    Shorter intervals react faster and cost an idle worker more.

    - `poll`: how often a worker looks for agents that another process woke.
    - `heartbeat`: how often a worker shows that it is alive.
    - `dead_after`: how long a worker may show nothing before the others treat it as dead.
    - `cleanup`: how often stuck drives are restarted and finished ones are deleted.
    - `keep_finished`: how old a finished drive must be to be deleted.
    - `grace`: how long a cancelled drive may take to end.
    - `retry_after`: the pauses before each retry of a drive that failed.
    """

    poll: float = 0.2
    heartbeat: float = 0.5
    dead_after: float = 2.5
    cleanup: float = 10.0
    keep_finished: float = 60.0
    grace: float = 10.0
    retry_after: tuple[float, ...] = RETRY_AFTER


class KeyLimiter:
    """Limits how many tasks of this process run at once, counted separately for each key.

    A key uses memory only while a task runs or waits under it.
    """

    def __init__(self, limit: int | None) -> None:
        self._limit = limit
        self._semaphores: dict[str, tuple[asyncio.Semaphore, int]] = {}

    @asynccontextmanager
    async def slot(self, key: str) -> AsyncGenerator[None]:
        """Waits for a free slot of this key, first come, first served, and holds it."""
        if self._limit is None:
            yield
            return
        semaphore, users = self._semaphores.get(key) or (asyncio.Semaphore(self._limit), 0)
        self._semaphores[key] = (semaphore, users + 1)
        try:
            async with semaphore:
                yield
        finally:
            semaphore, users = self._semaphores.pop(key)
            if users > 1:
                self._semaphores[key] = (semaphore, users - 1)
