"""Where a space is: statements about the table of moves, and waiting while a space is stopped."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from sapwood.core.errors import SpaceMoved, SpaceStopped
from sapwood.core.ids import Space
from sapwood.store.postgres.connections import Reader

T = TypeVar("T")

_PLACE = """
    SELECT state, cell, state = 'stopped' AND until <= clock_timestamp() AS resumed
    FROM sapwood.moves WHERE space = $1 AND state <> 'leaving'
"""
_PAUSE = 0.02


async def require_here(readers: Reader, space: Space) -> None:
    """Raises `SpaceMoved` if another database has the space, `SpaceStopped` if none serves it."""
    row = await readers.fetchrow(_PLACE, space)
    if row is None or row["resumed"]:
        return
    if row["state"] == "moved":
        raise SpaceMoved(space, row["cell"])
    raise SpaceStopped(space)


async def when_here(action: Callable[[], Awaitable[T]], seconds: float) -> T:
    """The result of an action, which is repeated while its space is stopped.

    Raises `SpaceStopped` after `seconds`.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + seconds
    while True:
        try:
            return await action()
        except SpaceStopped:
            if loop.time() + _PAUSE > deadline:
                raise
        await asyncio.sleep(_PAUSE)
