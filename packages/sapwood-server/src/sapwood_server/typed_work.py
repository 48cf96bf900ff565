"""What the person at the machine starts on the page, and what goes on after its request.

A goal continues after each turn, also while no page is open. A shell line can be stopped.
"""

import asyncio
import logging
from collections.abc import Coroutine
from contextlib import aclosing
from typing import Any, Protocol

from sapwood.app.agent_runner import AgentRunner
from sapwood.app.connection import Connection
from sapwood.conversation.service import ConversationService, Outcome
from sapwood.conversation.session import ConversationSession
from sapwood.core.errors import SapwoodError
from sapwood.core.events import (
    GoalEnded,
    Recorded,
    TurnCompleted,
    TurnFailed,
    TurnInterrupted,
)
from sapwood.core.ids import AgentId
from sapwood.core.model_calls import Failure
from sapwood.core.refusals import Refusal

_log = logging.getLogger("sapwood.server")
_TURN_ENDS = (TurnCompleted, TurnFailed, TurnInterrupted)


class GoalAgents(Protocol):
    """The agents of one space."""

    connection: Connection
    at_machine: ConversationService

    @property
    def runner(self) -> AgentRunner:
        """What runs them."""
        ...


class GoalRuns:
    """Continues the goals of one space, each in a task that ends with the goal.

    `problems` says why a goal does not continue, by its agent.
    """

    def __init__(self, agents: GoalAgents) -> None:
        self._agents = agents
        self._tasks: dict[AgentId, asyncio.Task[None]] = {}
        self.problems: dict[AgentId, str] = {}

    async def start(self, agent: AgentId) -> None:
        """Continues the goal of an agent from now on, if it has one and nothing does so yet."""
        if agent not in self._tasks and await self._has_goal(agent):
            self._tasks[agent] = asyncio.create_task(self._run(agent))

    def runs(self, agent: AgentId) -> bool:
        """Whether the goal of an agent continues by itself."""
        return agent in self._tasks

    async def close(self) -> None:
        """Stops. The goals stay, and wait until a person continues them."""
        tasks = [*self._tasks.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _run(self, agent: AgentId) -> None:
        self.problems.pop(agent, None)
        try:
            await self._continue_after_turns(agent)
        except (SapwoodError, Failure) as error:
            self.problems[agent] = str(error)
        except Exception:
            _log.exception("The goal of %s does not continue.", agent)
        finally:
            if self._tasks.get(agent) is asyncio.current_task():
                del self._tasks[agent]

    async def _continue_after_turns(self, agent: AgentId) -> None:
        session = ConversationSession(self._agents.at_machine, "", agent)
        version = (await self._agents.connection.dispatcher.open(agent)).state.version
        async with aclosing(self._agents.runner.watch(agent, version)) as shown:
            await session.accept_goal()
            await self._step(session, agent)
            async for each in shown:
                event = each.what.event if isinstance(each.what, Recorded) else None
                if isinstance(event, GoalEnded) and not await self._has_goal(agent):
                    del self._tasks[agent]  # a goal that is set from now on has its own task
                    return
                if isinstance(event, _TURN_ENDS):
                    await self._step(session, agent)

    async def _has_goal(self, agent: AgentId) -> bool:
        return (await self._agents.connection.dispatcher.open(agent)).state.goal is not None

    async def _step(self, session: ConversationSession, agent: AgentId) -> None:
        """Sends what is queued, then opens the next turn of the goal or ends it."""
        self.problems.pop(agent, None)
        async for outcome in session.turn_ended():
            if isinstance(outcome.answer, Refusal):
                self.problems[agent] = outcome.message


class ShellLines:
    """The shell lines that run now."""

    def __init__(self) -> None:
        self._running: dict[asyncio.Task[list[Outcome]], AgentId] = {}

    async def run(
        self, agent: AgentId, work: Coroutine[Any, Any, list[Outcome]]
    ) -> list[Outcome] | None:
        """Runs one, whatever becomes of the request; None if it was stopped."""
        task = asyncio.create_task(work)
        self._running[task] = agent
        task.add_done_callback(self._running.pop)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if not task.cancelled():  # the request was
                raise
            return None

    def stop(self, agent: AgentId) -> bool:
        """Stops the shell lines of an agent; returns whether one was running."""
        found = [task for task, of in self._running.items() if of == agent]
        for task in found:
            task.cancel()
        return bool(found)

    async def close(self) -> None:
        """Stops all, and waits until that is recorded."""
        for task in (tasks := [*self._running]):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
