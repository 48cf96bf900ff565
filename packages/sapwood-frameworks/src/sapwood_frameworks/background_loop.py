"""The class `BackgroundLoop`: runs coroutines for a program that has no event loop."""

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

_Result = TypeVar("_Result")


class BackgroundLoop:
    """An event loop in a thread of its own, started at its first use.

    >>> async def answer() -> int:
    ...     return 42
    >>> loop = BackgroundLoop()
    >>> loop.run(answer())
    42
    >>> loop.stop()
    """

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._starting = threading.Lock()

    def run(self, work: Coroutine[Any, Any, _Result]) -> _Result:
        """Runs a coroutine and returns its result."""
        with self._starting:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
                self._thread.start()
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def stop(self) -> None:
        """Ends the thread, if it was started."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()
            self._loop = None
