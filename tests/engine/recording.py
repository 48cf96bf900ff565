"""A drive that remembers, and that ends when it is let."""

import asyncio
from collections import Counter

from sapwood.core.ids import AgentId, Space

__all__ = ["Recorder"]


class Recorder:
    """Counts drives by agent, and how many were under way at once. Holds them until `let_go`."""

    def __init__(self, *, hold: bool = False) -> None:
        self.began: Counter[str] = Counter()
        self.done: Counter[str] = Counter()
        self.under_way: Counter[str] = Counter()
        self.most_at_once = 0
        self.cancelled = 0
        self._free = asyncio.Event()
        if not hold:
            self._free.set()

    def let_go(self) -> None:
        """Lets the drives end."""
        self._free.set()

    async def drive(self, space: Space, agent: AgentId) -> None:
        """Is given to an engine."""
        self.began[agent] += 1
        self.under_way[agent] += 1
        self.most_at_once = max(self.most_at_once, self.under_way.total())
        assert self.under_way[agent] == 1, f"{agent} is driven twice at once"
        try:
            await self._free.wait()
            self.done[agent] += 1
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.under_way[agent] -= 1
