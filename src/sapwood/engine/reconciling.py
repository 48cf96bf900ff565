"""Wakes every agent that has work to do: what brings back an engine that lost its memory.

Run at launch, and every few minutes in case somebody deleted the engine's database. Waking an
agent that is being looked after already costs one more look at its log.
"""

import asyncio
import logging
import random
from collections.abc import Iterable
from typing import Protocol

from sapwood.core.errors import SapwoodError
from sapwood.core.ids import AgentId, Space
from sapwood.core.log import Facts

__all__ = ["Lister", "Waker", "keep_awake", "wake_all"]

_PAGE = 200
_log = logging.getLogger("sapwood.engine")


class Lister(Protocol):
    """What this needs of a log."""

    async def agents(
        self, space: Space, *, after: Facts | None = None, limit: int = 100, status: str | None
    ) -> list[Facts]:
        """A page of agents, going on after one seen."""
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
        last: Facts | None = None
        while page := await log.agents(space, after=last, limit=_PAGE, status="running"):
            working = [facts for facts in page if facts.working]
            await asyncio.gather(
                *(engine.wake(space, facts.agent, model=facts.model) for facts in working)
            )
            woken += len(working)
            last = page[-1]
    return woken


async def keep_awake(
    log: Lister, engine: Waker, spaces: Iterable[Space], *, every: float = 300.0
) -> None:
    """Runs `wake_all` now and every so many seconds, until it is cancelled.

    Workers that start together drift apart, so that they do not all ask at once.
    """
    spaces = tuple(spaces)
    while True:
        try:
            await wake_all(log, engine, spaces)
        except SapwoodError as problem:
            _log.warning("Not every agent with work to do could be woken: %s", problem)
        await asyncio.sleep(every * random.uniform(0.8, 1.2))
