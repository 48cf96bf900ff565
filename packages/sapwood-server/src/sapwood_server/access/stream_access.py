"""Ends event streams of those who may not read any more: expired or revoked tokens."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from msgspec import Struct
from starlette.requests import Request

from sapwood_server.access.identity import Identities
from sapwood_server.access.principal import Principal
from sapwood_server.problems import Problem

_CHECK_SECONDS = 5.0


class _Open(Struct, eq=False):
    request: Request
    principal: Principal
    end: asyncio.Timeout


class StreamAccess:
    """The open streams of a server. Every few seconds, it asks for each token whether it holds."""

    def __init__(self, identities: Identities, seconds: float = _CHECK_SECONDS) -> None:
        self._identities = identities
        self._seconds = seconds
        self._open: set[_Open] = set()
        self._task: asyncio.Task[None] | None = None

    async def run(
        self, request: Request, principal: Principal, stream: Callable[[], Awaitable[None]]
    ) -> bool:
        """Runs a stream while its principal may read. Returns whether it came to its own end."""
        try:
            async with asyncio.timeout(None) as end:
                mine = _Open(request, principal, end)
                self._open.add(mine)
                if self._task is None:
                    self._task = asyncio.create_task(self._watch())
                try:
                    await stream()
                finally:
                    self._open.discard(mine)
        except TimeoutError:
            return False
        return True

    async def close(self) -> None:
        """Stops watching."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def _watch(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(self._seconds)
            groups: dict[tuple[str, int], list[_Open]] = {}
            for each in self._open:
                key = (each.principal.id, each.principal.expires)
                groups.setdefault(key, []).append(each)
            for group in groups.values():
                if not await self._may_read(group[0]):
                    for each in group:
                        if each in self._open:
                            each.end.reschedule(loop.time())

    async def _may_read(self, stream: _Open) -> bool:
        try:
            principal = await self._identities.of(stream.request)
        except Problem as problem:
            return problem.status >= 500  # the database or the issuer is away
        except Exception:
            return True  # so is the database
        return "read" in principal.scopes and principal.space == stream.principal.space
