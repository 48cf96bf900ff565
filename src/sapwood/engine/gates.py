"""Limits by key inside one process."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

__all__ = ["Gates"]


class Gates:
    """Lets so many at a time through for each key. A key that nobody uses holds nothing."""

    def __init__(self, width: int | None) -> None:
        self._width = width
        self._gates: dict[str, tuple[asyncio.Semaphore, int]] = {}

    @asynccontextmanager
    async def through(self, key: str) -> AsyncGenerator[None]:
        """Waits for its turn at this key, first come, first served."""
        if self._width is None:
            yield
            return
        gate, users = self._gates.get(key) or (asyncio.Semaphore(self._width), 0)
        self._gates[key] = (gate, users + 1)
        try:
            async with gate:
                yield
        finally:
            gate, users = self._gates.pop(key)
            if users > 1:
                self._gates[key] = (gate, users - 1)
