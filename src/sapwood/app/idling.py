"""Waiting, for a person: until agents have nothing left to do, or mail is there."""

import asyncio
from contextlib import suppress

from sapwood.app.connection import Connection
from sapwood.app.finding import find
from sapwood.core.ids import AgentId

__all__ = ["until_idle"]

_GLANCE = 0.2
_LONGEST = 3600.0


async def until_idle(connection: Connection, agent: AgentId, args: str = "") -> str:
    """Waits for the named agents, or for all descendants, and says what ended it.

    `args` are names of agents, then perhaps the most seconds to wait.
    """
    names = args.split()
    seconds = float(names.pop()) if names and names[-1].isdigit() else _LONGEST
    log, space = connection.log, connection.space
    named = [await find(connection, name) for name in names]
    agents = named or await log.descendants(space, agent)
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while True:
                own = await log.facts(space, agent)
                if own is not None and own.unread:
                    return f"Mail has arrived: {own.unread} unread."
                facts = [await log.facts(space, each) for each in agents]
                if not any(each.working for each in facts if each is not None):
                    return f"Idle: {', '.join(agents)}." if agents else ""
                await asyncio.sleep(_GLANCE)
    return f"Not idle after {seconds:g} seconds."
