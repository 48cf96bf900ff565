"""Wakes every agent that has work to do: what brings back an engine that lost its memory.

Run at launch, and every few minutes in case somebody deleted the engine's database. Waking an
agent that is being looked after already costs one more look at its log.
"""

import asyncio
import logging
import random
from collections.abc import Iterable
from typing import Protocol

from sapwood.core.errors import LogAway, SapwoodError
from sapwood.core.ids import AgentId, Space
from sapwood.core.log import Facts
from sapwood.engine.errors import EngineError

__all__ = ["Lister", "Waker", "keep_awake", "wake_all"]

_PAGE = 200
_AWAY = 5.0
_log = logging.getLogger("sapwood.engine")


class Lister(Protocol):
    """What this needs of a log."""

    async def working(
        self, space: Space, *, after: AgentId | None = None, limit: int = 100
    ) -> list[Facts]:
        """A page of agents that have work to do, going on after one seen."""
        ...


class Waker(Protocol):
    """What this needs of an engine."""

    async def wake(self, space: Space, agent: AgentId, *, model: str) -> None:
        """Has this agent driven soon."""
        ...


async def wake_all(log: Lister, engine: Waker, spaces: Iterable[Space]) -> int:
    """Wakes every agent of these spaces that has work to do; returns how many there were."""
    woken = 0
    for space in spaces:
        last: AgentId | None = None
        while page := await log.working(space, after=last, limit=_PAGE):
            await asyncio.gather(
                *(engine.wake(space, facts.agent, model=facts.model) for facts in page)
            )
            woken += len(page)
            last = page[-1].agent
    return woken


async def keep_awake(
    log: Lister, engine: Waker, spaces: Iterable[Space], *, every: float = 300.0
) -> None:
    """Runs `wake_all` now and every so many seconds, until it is cancelled.

    Workers that start together drift apart, so that they do not all ask at once.
    """
    spaces = tuple(spaces)
    while True:
        pause = every * random.uniform(0.8, 1.2)
        try:
            await wake_all(log, engine, spaces)
        except (LogAway, EngineError) as problem:
            _log.info("Agents with work to do are woken when the database is back: %s", problem)
            pause = min(pause, _AWAY)
        except SapwoodError as problem:
            _log.warning("Not every agent with work to do could be woken: %s", problem)
        await asyncio.sleep(pause)
