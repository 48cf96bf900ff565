"""A second event loop in a thread, so that DBOS has one to itself.

DBOS blocks while it launches and replaces the thread pool of the loop it is launched in. The loop
that draws screens and streams answers is not the place for either.
"""

import asyncio
import threading
from collections.abc import Coroutine
from contextvars import Context
from typing import Any, TypeVar

__all__ = ["Loop", "over_to"]

_T = TypeVar("_T")


class Loop:
    """An event loop in a thread of its own."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="sapwood-engine", daemon=True)
        self._thread.start()

    async def call(self, coroutine: Coroutine[Any, Any, _T]) -> _T:
        """Runs a coroutine over there and waits for it here."""
        return await over_to(self._loop, coroutine)

    async def settle(self, seconds: float) -> None:
        """Waits so long for all tasks over there, then cancels them."""
        await self.call(_settle(seconds))

    async def stop(self) -> None:
        """Ends the loop and its thread."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        await asyncio.to_thread(self._thread.join)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        finally:
            self._loop.close()


async def over_to(loop: asyncio.AbstractEventLoop, coroutine: Coroutine[Any, Any, _T]) -> _T:
    """Runs a coroutine in another loop, in a context of its own, and waits for it here."""
    start = asyncio.run_coroutine_threadsafe
    return await asyncio.wrap_future(Context().run(start, coroutine, loop))


async def _settle(seconds: float) -> None:
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    if tasks:
        _, left = await asyncio.wait(tasks, timeout=seconds)
        for task in left:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
