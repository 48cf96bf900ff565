"""A way for the writer's thread to tell the event loop that something is done.

`call_soon_threadsafe` does the same through a pair of sockets that it drains until they refuse.
That is several system calls and an exception more at every commit; a pipe read once is enough.
"""

import asyncio
import contextlib
import os
from collections import deque
from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

__all__ = ["Postbox"]

T = TypeVar("T")


class Postbox(Generic[T]):
    """Things put in by any thread come out on the event loop, in order."""

    def __init__(self, deliver: Callable[[T], None]) -> None:
        self._deliver = deliver
        self._things: deque[T] = deque()
        self._open = Lock()
        self._out, self._in = os.pipe()
        os.set_blocking(self._out, False)
        os.set_blocking(self._in, False)
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._out, self._empty)

    def put(self, thing: T) -> None:
        """Hands a thing over; from any thread."""
        # The last thing may be out and the pipe closed, its number given to another file, before
        # the call for it is written.
        with self._open, contextlib.suppress(BlockingIOError):  # full of calls already
            self._things.append(thing)
            os.write(self._in, b"!")

    def close(self) -> None:
        """Lets go of the pipe; nothing may be put in any more."""
        with self._open:
            self._loop.remove_reader(self._out)
            os.close(self._out)
            os.close(self._in)

    def _empty(self) -> None:
        os.read(self._out, 4096)
        while self._things:
            self._deliver(self._things.popleft())
