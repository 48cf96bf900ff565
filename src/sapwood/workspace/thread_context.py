"""Enters and leaves a context manager in threads, for those that open or search files.

The event loop must not wait for a slow disk meanwhile.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AbstractContextManager, asynccontextmanager
from functools import partial
from typing import TypeVar

_Entered = TypeVar("_Entered")


@asynccontextmanager
async def in_threads(context: AbstractContextManager[_Entered]) -> AsyncGenerator[_Entered]:
    """What the context manager yields. It is left even after a cancellation."""
    entering = asyncio.ensure_future(asyncio.to_thread(context.__enter__))
    try:
        entered = await asyncio.shield(entering)
    except asyncio.CancelledError:
        entering.add_done_callback(partial(_leave, context))
        raise
    try:
        yield entered
    finally:
        await asyncio.shield(asyncio.to_thread(context.__exit__, None, None, None))


def _leave(context: AbstractContextManager[_Entered], entering: "asyncio.Future[_Entered]") -> None:
    if not entering.cancelled() and entering.exception() is None:
        context.__exit__(None, None, None)
