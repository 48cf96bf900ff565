"""Scheduling: an agent with an open turn has work to do; that one rule is all there is to know.

It starts children, answers prompts, resumes after a crash, and looks after agents that wait.
"""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

from sapwood.core.errors import SapwoodError
from sapwood.core.events import (
    AgentKilled,
    MailReceived,
    TurnCompleted,
    TurnFailed,
    TurnInterrupted,
    TurnStarted,
)
from sapwood.core.ids import AgentId, Space
from sapwood.core.log import Append
from sapwood.runtime.driver import Driver
from sapwood.runtime.engine import Engine

__all__ = ["Scheduler", "woken_by"]

_WAKE_AGAIN = 1.0
_log = logging.getLogger("sapwood.runtime")

_ENDS = (TurnCompleted, TurnFailed, TurnInterrupted, AgentKilled)


def woken_by(append: Append) -> set[AgentId]:
    """Who must be looked at after these events.

    Whoever got a prompt, whoever got mail while working, and the parent of whoever is done.
    """
    woken: set[AgentId] = set()
    for recorded in append.events:
        event = recorded.event
        mail = isinstance(event, MailReceived) and append.facts.working
        if isinstance(event, TurnStarted) or mail:
            woken.add(append.agent)
        elif isinstance(event, _ENDS) and append.facts.parent is not None:
            woken.add(append.facts.parent)
    return woken


class Scheduler:
    """Connects commits to the engine and the engine to the driver, for one space."""

    def __init__(self, space: Space, engine: Engine) -> None:
        self._space = space
        self._engine = engine
        self._waking: set[asyncio.Task[None]] = set()
        self._driver: Driver | None = None
        self._closing = False

    async def start(self, driver: Driver) -> None:
        """Begins to drive agents."""
        self._driver = driver
        await self._engine.launch(self._drive)

    def committed(self, appends: tuple[Append, ...]) -> None:
        """Has everybody woken whom these commits concern."""
        for append in appends:
            for agent in woken_by(append):
                self._soon(self._wake(agent, append.facts.model))

    async def close(self) -> None:
        """Hands over what is to be woken, and stops driving."""
        self._closing = True
        await asyncio.gather(*self._waking, return_exceptions=True)
        await self._engine.close()

    async def _wake(self, agent: AgentId, model: str) -> None:
        """Wakes an agent; an engine whose database is away is asked until it is back."""
        while True:
            try:
                await self._engine.wake(self._space, agent, model=model)
            except SapwoodError as problem:
                _log.info("'%s' could not be woken yet: %s", agent, problem)
                if self._closing:
                    return
                await asyncio.sleep(_WAKE_AGAIN)
            else:
                return

    async def _drive(self, space: Space, agent: AgentId) -> None:
        if self._driver is None or space != self._space:
            return
        delay = await self._driver.drive(agent)
        if delay is not None:
            await self._engine.wake(space, agent, delay=delay)

    def _soon(self, waking: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(waking)
        self._waking.add(task)
        task.add_done_callback(self._waking.discard)
