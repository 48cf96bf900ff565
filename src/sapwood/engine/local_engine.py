"""The engine of `:memory:`: asyncio tasks and nothing on disk.

It behaves as the other engines do, with one exception: it shares its drives with no other process,
and when its own process ends, none takes them over.
"""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress
from contextvars import Context

from sapwood.core.ids import AgentId, Space
from sapwood.engine.drives import (
    RETRY_AFTER,
    DriveFunction,
    EngineError,
    NotServed,
    drive_with_retries,
)
from sapwood.engine.limits import DriveLimits, FairSlots, KeyLimiter

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
        self, limits: DriveLimits | None = None, *, retry_after: Sequence[float] = RETRY_AFTER
    ) -> None:
        limits = limits or DriveLimits()
        self._workers = FairSlots(limits.per_worker, limits.share)
        self._spaces = KeyLimiter(limits.per_space)
        self._models = KeyLimiter(limits.per_model)
        self._users = KeyLimiter(limits.per_user)
        self._retry_after = retry_after
        self._drive: DriveFunction | None = None
        self._closed = False
        self._wakes: dict[_Key, int] = {}
        self._woken_before_launch: list[tuple[_Key, str, str]] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._timers: set[asyncio.TimerHandle] = set()

    async def launch(self, drive: DriveFunction) -> None:
        """Starts to drive agents, first those that were woken before the launch."""
        self._drive = drive
        for key, model, user in self._woken_before_launch:
            self._start(drive, key, model, user)
        self._woken_before_launch.clear()

    async def wake(
        self, space: Space, agent: AgentId, *, model: str = "", user: str = "", delay: float = 0.0
    ) -> None:
        """Drives this agent soon, or after `delay` seconds.

        An agent that is being driven is driven once more after that. Raises `EngineError` when the
        engine is closed.
        """
        if self._closed:
            raise EngineError.closed()
        if delay > 0:
            self._wake_later((space, agent), model, user, delay)
        else:
            self._wake_now((space, agent), model, user)

    async def close(self) -> None:
        """Accepts no more work, cancels the running drives and waits until they have ended."""
        self._closed = True
        for timer in self._timers:
            timer.cancel()
        tasks = [task for task in self._tasks if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _wake_later(self, key: _Key, model: str, user: str, delay: float) -> None:
        def wake() -> None:
            self._timers.discard(timer)
            self._wake_now(key, model, user)

        timer = asyncio.get_running_loop().call_later(delay, wake)
        self._timers.add(timer)

    def _wake_now(self, key: _Key, model: str, user: str) -> None:
        if key in self._wakes:
            self._wakes[key] += 1
            return
        self._wakes[key] = 1
        if self._drive is None:
            self._woken_before_launch.append((key, model, user))
        else:
            self._start(self._drive, key, model, user)

    def _start(self, drive: DriveFunction, key: _Key, model: str, user: str) -> None:
        # The drive must not inherit the context of the task that woke the agent.
        task = asyncio.get_running_loop().create_task(
            self._drive_until_done(drive, key, model, user), context=Context()
        )
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _drive_until_done(
        self, drive: DriveFunction, key: _Key, model: str, user: str
    ) -> None:
        async with AsyncExitStack() as slots:
            space, _ = key
            await slots.enter_async_context(self._users.slot(f"{space}/{user}"))
            await slots.enter_async_context(self._models.slot(model))
            await slots.enter_async_context(self._spaces.slot(space))
            await slots.enter_async_context(self._workers.slot(space))
            seen = 0
            try:
                while self._wakes[key] != seen:
                    seen = self._wakes[key]
                    with suppress(NotServed):  # there is no other worker to give it to
                        await drive_with_retries(drive, *key, self._retry_after)
            finally:
                del self._wakes[key]
