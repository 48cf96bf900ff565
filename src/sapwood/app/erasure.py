"""Erases in the space of a connection, and finds what a restored backup brought back."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from sapwood.app.connection import Connection
from sapwood.app.external_stores import external_stores
from sapwood.core.ids import Space
from sapwood.core.log_values import AgentSummary
from sapwood.lifecycle.erasable_log import erasable
from sapwood.lifecycle.erasure import Eraser

_PAGE = 1_000


def eraser_for(connection: Connection) -> Eraser:
    """Returns what erases in the space of the connection. Raises `LogError`."""
    log = erasable(connection.log)
    outside = external_stores(log, connection.address)
    return Eraser(log, connection.space, outside, connection.dispatcher.forget)


async def find_again(
    connection: Connection, files: Sequence[Path]
) -> dict[Space, list[AgentSummary]]:
    """What these lists of erasures name, and the database has again, after a restore; by space.

    Raises `LogError` if a list cannot be read.
    """
    from sapwood.lifecycle.erasure import is_erased, read_erased

    log = erasable(connection.log)
    found: dict[Space, list[AgentSummary]] = {}
    for space, times in (await asyncio.to_thread(read_erased, files)).items():
        page = await log.agents(space, limit=_PAGE)
        while page:
            found.setdefault(space, []).extend(
                summary for summary in page if is_erased(times, space, summary)
            )
            page = await log.agents(space, after=page[-1], limit=_PAGE)
    return {space: agents for space, agents in found.items() if agents}
