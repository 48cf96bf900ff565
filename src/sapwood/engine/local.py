"""The engine of one process: asyncio tasks and nothing on disk.

For tests, scripts and the log in memory. It keeps the promises of the durable engine but one: what
is under way when the process ends is not taken over by anybody.
"""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from contextvars import Context

from sapwood.core.ids import AgentId, Space
from sapwood.engine.errors import EngineError
from sapwood.engine.gates import Gates
from sapwood.engine.limits import Limits
from sapwood.engine.trying import RETRY_AFTER, Drive, tried

__all__ = ["LocalEngine"]

_Key = tuple[Space, AgentId]


class LocalEngine:
    """Drives agents in this process.

    >>> async def main() -> None:
    ...     async def drive(space: Space, agent: AgentId) -> None:
    ...         print("driving", agent)
    ...         driven.set()
    ...
    ...     driven, engine = asyncio.Event(), LocalEngine()
    ...     await engine.launch(drive)
    ...     await engine.wake(Space("main"), AgentId("ada"))
    ...     await driven.wait()
    ...     await engine.close()
    >>> asyncio.run(main())
    driving ada
    """

    def __init__(
        self, limits: Limits | None = None, *, retry_after: Sequence[float] = RETRY_AFTER
    ) -> None:
        limits = limits or Limits()
        self._workers = Gates(limits.per_worker)
        self._models = Gates(limits.per_model)
        self._users = Gates(limits.per_user)
        self._retry_after = retry_after
        self._drive: Drive | None = None
        self._closed = False
        self._rings: dict[_Key, int] = {}
        self._early: list[tuple[_Key, str, str]] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._timers: set[asyncio.TimerHandle] = set()

    async def launch(self, drive: Drive) -> None:
        """Starts to drive, first the agents that were woken already."""
        self._drive = drive
        for key, model, user in self._early:
            self._start(drive, key, model, user)
        self._early.clear()

    async def wake(
        self, space: Space, agent: AgentId, *, model: str = "", user: str = "", delay: float = 0.0
    ) -> None:
        """Has this agent driven soon, or after a delay; once more if it is being driven."""
        if self._closed:
            raise EngineError.closed()
        if delay > 0:
            self._later((space, agent), model, user, delay)
        else:
            self._ring((space, agent), model, user)

    async def close(self) -> None:
        """Stops taking work and ends the drives under way."""
        self._closed = True
        for timer in self._timers:
            timer.cancel()
        tasks = [task for task in self._tasks if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _later(self, key: _Key, model: str, user: str, delay: float) -> None:
        def ring() -> None:
            self._timers.discard(timer)
            self._ring(key, model, user)

        timer = asyncio.get_running_loop().call_later(delay, ring)
        self._timers.add(timer)

    def _ring(self, key: _Key, model: str, user: str) -> None:
        if key in self._rings:
            self._rings[key] += 1
            return
        self._rings[key] = 1
        if self._drive is None:
            self._early.append((key, model, user))
        else:
            self._start(self._drive, key, model, user)

    def _start(self, drive: Drive, key: _Key, model: str, user: str) -> None:
        # A drive has nothing to do with whoever happened to wake the agent.
        task = asyncio.get_running_loop().create_task(
            self._look_after(drive, key, model, user), context=Context()
        )
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _look_after(self, drive: Drive, key: _Key, model: str, user: str) -> None:
        async with AsyncExitStack() as gates:
            await gates.enter_async_context(self._users.through(user))
            await gates.enter_async_context(self._models.through(model))
            await gates.enter_async_context(self._workers.through(""))
            seen = 0
            try:
                while self._rings[key] != seen:
                    seen = self._rings[key]
                    await tried(drive, *key, self._retry_after)
            finally:
                del self._rings[key]
