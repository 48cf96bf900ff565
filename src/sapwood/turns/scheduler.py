"""Scheduling: an agent with an open turn has work to do. There is no other rule.

This rule starts children, answers prompts, resumes turns after a crash, and wakes agents that wait.

`Engine` is the interface to the work queue; `sapwood.engine` provides two. The log is the only
truth: what an engine loses is built again by waking every agent that has work, and what it repeats
is harmless, because driving an agent starts by reading its log.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any, Protocol

from sapwood.core import events
from sapwood.core.errors import SapwoodError
from sapwood.core.ids import AgentId, Space
from sapwood.core.log_values import Append

if TYPE_CHECKING:
    from sapwood.turns.driver import Driver

_GIVES_WORK = (events.TurnStarted, events.MailReceived, events.QuestionAnswered)
_ENDS = (events.TurnCompleted, events.TurnFailed, events.TurnInterrupted, events.AgentKilled)


def woken_by(append: Append) -> set[AgentId]:
    """Returns the agents that have to be driven after these events.

    An agent that got a prompt, an agent with an open turn that got mail, an answer to a question or
    the result of a tool that whoever gave the prompt runs, and the parent of an agent whose turn
    ended.
    """
    woken: set[AgentId] = set()
    for recorded in append.events:
        event = recorded.event
        if isinstance(event, events.TurnStarted) and event.lease is not None:
            continue  # the program that started the turn runs it
        if isinstance(event, events.ToolFinished):
            if recorded.actor.role == "human" and append.summary.working:
                woken.add(append.agent)
        elif isinstance(event, _GIVES_WORK) and append.summary.working:
            woken.add(append.agent)
        elif isinstance(event, _ENDS) and append.summary.parent is not None:
            woken.add(append.summary.parent)
    return woken


_WAKE_AGAIN = 1.0
_log = logging.getLogger("sapwood.turns")

Drive = Callable[[Space, AgentId], Awaitable[None]]
"""Drives the open turn of one agent. Returns when there is no more work to do now."""


class Engine(Protocol):
    """Drives agents: each by one worker at a time, in this process or another one."""

    async def launch(self, drive: Drive) -> None:
        """Starts to take work, also the unfinished work of workers that died."""
        ...

    async def wake(
        self, space: Space, agent: AgentId, *, model: str = "", user: str = "", delay: float = 0.0
    ) -> None:
        """Drives this agent soon, or after a delay in seconds.

        If the agent is being driven now, it is driven once more afterwards. Limits count by
        `model` and `user`.
        """
        ...

    async def close(self) -> None:
        """Stops taking work. Running turns stop at their next step; other workers continue them."""
        ...


class Scheduler:
    """Connects commits to the engine and the engine to the driver, for one space."""

    def __init__(self, space: Space, engine: Engine) -> None:
        self._space = space
        self._engine = engine
        self._waking: set[asyncio.Task[None]] = set()
        self._driver: Driver | None = None
        self._closing = False

    async def start(self, driver: "Driver") -> None:
        """Starts to drive agents."""
        self._driver = driver
        await self._engine.launch(self._drive)

    def committed(self, appends: tuple[Append, ...]) -> None:
        """Wakes every agent that these appends affect."""
        for append in appends:
            for agent in woken_by(append):
                if agent == append.agent:
                    self._soon(self._wake(agent, append.summary.model, append.summary.owner))
                else:
                    self._soon(self._wake_another(agent))

    async def close(self) -> None:
        """Passes all pending wake-ups to the engine and closes it."""
        self._closing = True
        await asyncio.gather(*self._waking, return_exceptions=True)
        await self._engine.close()

    async def _wake_another(self, agent: AgentId) -> None:
        """Wakes an agent, such as a parent, for an append to the log of another one."""
        await self._wake(agent, *await self._counted_by(agent))

    async def _counted_by(self, agent: AgentId) -> tuple[str, str]:
        """The model and the owner by which limits count, empty if they cannot be read now."""
        try:
            return await self._driver.counted_by(agent) if self._driver else ("", "")
        except SapwoodError as problem:
            _log.info("waking agent '%s' without its limits: %s", agent, problem)
            return "", ""

    async def _wake(self, agent: AgentId, model: str, user: str) -> None:
        """Wakes an agent. Tries again while the engine's database does not answer."""
        while True:
            try:
                await self._engine.wake(self._space, agent, model=model, user=user)
            except SapwoodError as problem:
                _log.info("could not wake agent '%s', trying again: %s", agent, problem)
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
            model, user = await self._counted_by(agent)
            await self._engine.wake(space, agent, model=model, user=user, delay=delay)

    def _soon(self, waking: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(waking)
        self._waking.add(task)
        task.add_done_callback(self._waking.discard)
