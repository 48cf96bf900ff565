"""The limits of requests for each principal and each space, counted together by all servers.

A server counts by itself and lets no request wait. Ten times a second it tells the database what
it let pass, and learns what all servers let pass. So a limit holds for all servers together, except
for what arrives within a tenth of a second. While the database is away, each server counts alone.
"""

import asyncio
import time
from contextlib import suppress

from sapwood.config.serve_settings import ServeConfig
from sapwood.core.errors import LogError
from sapwood_server.access.principal import Principal
from sapwood_server.access.rate_limit import RateLimit
from sapwood_server.server_tables import SharedCounts

__all__ = ["RequestLimits", "SharedCounts"]

_SETTLE_SECONDS = 0.1
_AWAY_SECONDS = 2.0
_FORGET_SECONDS = 60.0


class RequestLimits:
    """So many requests a second for each principal and for each space, and bursts of both."""

    def __init__(
        self, config: ServeConfig | None = None, shared: SharedCounts | None = None
    ) -> None:
        config = config or ServeConfig()
        self._principals = RateLimit(config.rate, config.burst)
        self._spaces = RateLimit(config.space_rate, config.space_burst)
        self._shared = shared
        self._work = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def check(self, principal: Principal) -> None:
        """Counts a request. Raises `Problem` with `Retry-After` if it comes too early."""
        now = time.monotonic()
        self._principals.check(f"principal {principal.id}", now)
        self._spaces.check(f"space {principal.space}", now)
        if self._shared is not None:
            self._work.set()
            if self._task is None:
                self._task = asyncio.create_task(self._settle(self._shared))

    async def close(self) -> None:
        """Stops counting with the other servers."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def _settle(self, shared: SharedCounts) -> None:
        forgotten = 0.0
        while True:
            await self._work.wait()
            await asyncio.sleep(_SETTLE_SECONDS)
            self._work.clear()
            used = {**self._principals.take_used(), **self._spaces.take_used()}
            try:
                ahead = await shared.count(used)
                if time.monotonic() - forgotten > _FORGET_SECONDS:
                    forgotten = time.monotonic()
                    await shared.forget()
            except LogError:
                await asyncio.sleep(_AWAY_SECONDS)
                continue
            self._principals.correct(ahead)
            self._spaces.correct(ahead)
