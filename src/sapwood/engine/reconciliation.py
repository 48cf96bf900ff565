"""Wakes every agent that has work to do, so that an engine can be rebuilt from the log.

Runs when a worker starts and every few minutes, in case the engine's database was deleted. Waking
an agent that is already being driven only makes its drive read the log once more.
"""

import asyncio
import logging
import random
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Protocol

from sapwood.core.errors import LogError, LogUnavailable, SapwoodError
from sapwood.core.ids import AgentId, Space
from sapwood.core.log_values import AgentSummary
from sapwood.engine.drives import EngineError

_PAGE = 200
_RETRY_SECONDS = 5.0
_log = logging.getLogger("sapwood.engine")


class WorkingAgents(Protocol):
    """The part of a log that this module needs."""

    async def working(
        self, space: Space, *, after: AgentId | None = None, limit: int = 100
    ) -> list[AgentSummary]:
        """A page of the agents that have work to do, starting after the agent `after`."""
        ...


class WakingEngine(Protocol):
    """The part of an engine that this module needs."""

    async def wake(self, space: Space, agent: AgentId, *, model: str, user: str) -> None:
        """Makes the engine drive this agent soon."""
        ...


class WorkingSpaces(WorkingAgents, Protocol):
    """A log of several spaces."""

    async def working_spaces(self, *, after: Space | None = None, limit: int = 100) -> list[Space]:
        """A page of the spaces in which an agent has work to do, starting after `after`."""
        ...


Spaces = Callable[[], AsyncIterator[Space]]
"""The spaces to look at, as they are at the moment."""


def these(spaces: Iterable[Space]) -> Spaces:
    """Always the same spaces."""
    names = tuple(spaces)

    async def each() -> AsyncIterator[Space]:
        for name in names:
            yield name

    return each


def working_spaces(log: WorkingSpaces, serves: Callable[[Space], bool]) -> Spaces:
    """The spaces that are served and have work to do."""

    async def each() -> AsyncIterator[Space]:
        last: Space | None = None
        while page := await log.working_spaces(after=last, limit=_PAGE):
            for space in page:
                if serves(space):
                    yield space
            last = page[-1]

    return each


async def wake_all(
    log: WorkingAgents,
    engine: WakingEngine,
    spaces: Iterable[Space] | Spaces,
    *,
    parked: bool = True,
) -> int:
    """Wakes every agent of these spaces that has work to do; returns how many there were.

    Without `parked`, not those whose tool call waits for the answer of a person.

    A space that cannot be read, such as an encrypted one whose key is missing, is logged and left.
    """
    woken = 0
    async for space in (spaces if callable(spaces) else these(spaces))():
        try:
            woken += await _wake_space(log, engine, space, parked)
        except LogUnavailable:
            raise
        except LogError as problem:
            _log.warning("The agents of the space %s could not be woken: %s", space, problem)
    return woken


async def _wake_space(log: WorkingAgents, engine: WakingEngine, space: Space, parked: bool) -> int:
    woken, last = 0, None
    while page := await log.working(space, after=last, limit=_PAGE):
        wanted = [found for found in page if parked or not found.asking]
        await asyncio.gather(
            *(
                engine.wake(space, found.agent, model=found.model, user=found.owner)
                for found in wanted
            )
        )
        woken += len(wanted)
        last = page[-1].agent
    return woken


async def keep_awake(
    log: WorkingAgents,
    engine: WakingEngine,
    spaces: Iterable[Space] | Spaces,
    *,
    every: float = 300.0,
) -> None:
    """Runs `wake_all` now and then about every `every` seconds, until it is cancelled.

    The pauses vary at random, so that workers that start together do not all query at once.
    """
    current = spaces if callable(spaces) else these(spaces)
    while True:
        pause = every * random.uniform(0.8, 1.2)
        try:
            await wake_all(log, engine, current)
        except (LogUnavailable, EngineError) as problem:
            _log.info("Agents with pending work wait until the database is back: %s", problem)
            pause = min(pause, _RETRY_SECONDS)
        except SapwoodError as problem:
            _log.warning("Could not wake all agents with pending work: %s", problem)
        await asyncio.sleep(pause)
