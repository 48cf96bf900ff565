"""A drive that records its runs, and that ends when the test allows it."""

import asyncio
from collections import Counter

from sapwood.core.ids import AgentId, Space


class DriveRecorder:
    """Counts drives by agent, and how many were under way at once. Holds them until `release`."""

    def __init__(self, *, hold: bool = False) -> None:
        self.began: Counter[str] = Counter()
        self.done: Counter[str] = Counter()
        self.running: Counter[str] = Counter()
        self.max_at_once = 0
        self.cancelled = 0
        self._free = asyncio.Event()
        if not hold:
            self._free.set()

    def release(self) -> None:
        """Lets the drives end."""
        self._free.set()

    async def drive(self, space: Space, agent: AgentId) -> None:
        """Is given to an engine."""
        self.began[agent] += 1
        self.running[agent] += 1
        self.max_at_once = max(self.max_at_once, self.running.total())
        assert self.running[agent] == 1, f"{agent} is driven twice at once"
        try:
            await self._free.wait()
            self.done[agent] += 1
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.running[agent] -= 1
