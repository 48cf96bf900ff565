"""How many agents are driven at once, and how often an engine looks for work."""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from msgspec import Struct, structs

from sapwood.engine.drives import RETRY_AFTER

_SUSPECT_DEATHS = 2
"""An agent in whose drives so many processes have died is driven without others of that kind."""


class DriveLimits(Struct, frozen=True):
    """How many drives may run at once: in one worker, for one model, one user and one space.

    The limits for models, users and spaces count the drives of all workers. A user is the owner of
    an agent, in one space. `share` is the most drives of one space in one worker, so that others
    find a free place there. So many processes may die in drives of one agent; then its turn fails.
    All workers of a database must have the same limits. None means no limit.

    >>> limits = DriveLimits(per_worker=100, per_user=3)
    >>> limits.per_user, limits.shared().share
    (3, 50)
    """

    per_worker: int = 500
    per_model: int | None = None
    per_user: int | None = None
    per_space: int | None = None
    share: int | None = None
    deaths: int | None = 4

    @property
    def counts_keys(self) -> bool:
        """Whether drives of all workers are counted by model, user or space."""
        return bool(self.per_model or self.per_user or self.per_space)

    def shared(self) -> "DriveLimits":
        """The limits of a worker for several spaces: one space may take half of it, or `share`."""
        return self if self.share else structs.replace(self, share=max(1, self.per_worker // 2))

    def is_suspect(self, deaths: int) -> bool:
        """Whether an agent may be the cause if so many processes died in its drives."""
        return self.deaths is not None and deaths >= min(_SUSPECT_DEATHS, self.deaths)

    def is_deadly(self, deaths: int) -> bool:
        """Whether so many processes died in the drives of an agent that its turn fails."""
        return self.deaths is not None and deaths >= self.deaths


class Intervals(Struct, frozen=True):
    """How often an engine acts, in seconds. The same for all processes of a database.

    Shorter intervals react faster and cost an idle worker more.

    - `poll`: how often a worker looks for agents that another process woke. PostgreSQL tells it at
      once; this is for what it could not tell.
    - `heartbeat`: how often a worker shows that it is alive.
    - `dead_after`: how long a worker may show nothing before the others treat it as dead.
    - `grace`: how long a cancelled drive may take to end.
    - `retry_after`: the pauses before each retry of a drive that failed.
    - `after_deaths`: how long an agent waits that may be the cause of deaths. Meanwhile whatever
      starts workers again can do so, and the other agents continue.
    """

    poll: float = 0.2
    heartbeat: float = 0.5
    dead_after: float = 2.5
    grace: float = 10.0
    retry_after: tuple[float, ...] = RETRY_AFTER
    after_deaths: float = 10.0


class FairSlots:
    """Limits how many tasks of this process run at once. Keys get free slots in turn.

    >>> async def main() -> list[str]:
    ...     slots, order = FairSlots(1), list[str]()
    ...
    ...     async def task(key: str, number: int) -> None:
    ...         async with slots.slot(key):
    ...             order.append(f"{key}{number}")
    ...             await asyncio.sleep(0)
    ...
    ...     flood = [task("flood", number) for number in range(3)]
    ...     await asyncio.gather(*flood, task("quiet", 0))
    ...     return order
    >>> asyncio.run(main())
    ['flood0', 'flood1', 'quiet0', 'flood2']
    """

    def __init__(self, limit: int, share: int | None = None) -> None:
        """`share` is the most slots of one key."""
        self._free = limit
        self._share = limit if share is None else share
        self._held: Counter[str] = Counter()
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}

    @asynccontextmanager
    async def slot(self, key: str) -> AsyncGenerator[None]:
        """Waits for a free slot and holds it."""
        if self._free and self._held[key] < self._share and not self._waiting:
            self._take(key)
        else:
            await self._wait(key)
        try:
            yield
        finally:
            self._free += 1
            self._held[key] -= 1
            self._held += Counter()  # forgets keys that hold nothing
            self._give()

    def _take(self, key: str) -> None:
        self._free -= 1
        self._held[key] += 1

    async def _wait(self, key: str) -> None:
        granted = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(key, deque()).append(granted)
        self._give()
        try:
            await granted
        except asyncio.CancelledError:
            if granted.done() and not granted.cancelled():  # it was granted at the same moment
                self._free += 1
                self._held[key] -= 1
                self._give()
            raise

    def _give(self) -> None:
        """Gives free slots to the keys that wait, one to each in turn."""
        before = -1
        while self._waiting and self._free not in (0, before):
            before = self._free
            self._give_one_each()

    def _give_one_each(self) -> None:
        for key in list(self._waiting):
            if not self._free:
                return
            line = self._waiting.pop(key)
            while line and line[0].done():  # cancelled
                line.popleft()
            if line and self._held[key] < self._share:
                self._take(key)
                line.popleft().set_result(None)
            if line:
                self._waiting[key] = line  # at the end: the others come first


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
