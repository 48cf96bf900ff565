"""What a person starts on the page, and what continues after its request.

A goal continues after each turn, also while no page is open. A turn that failed by a limit of the
provider is asked again when the limit resets. A shell line can be stopped.
"""

import asyncio
import logging
from collections.abc import Coroutine
from contextlib import aclosing, suppress
from typing import Any, Protocol

from sapwood.app.agent_runner import AgentRunner
from sapwood.app.connection import Connection
from sapwood.conversation.call import Person
from sapwood.conversation.provider_limit import resets_soon
from sapwood.conversation.script import CommandStep, scopes_to_send
from sapwood.conversation.service import ConversationService, Outcome
from sapwood.conversation.session import ConversationSession
from sapwood.core import events
from sapwood.core.command_table import TABLE
from sapwood.core.errors import SapwoodError
from sapwood.core.ids import AgentId
from sapwood.core.model_calls import Failure
from sapwood.core.refusals import Refusal
from sapwood.display.quantities import now

_log = logging.getLogger("sapwood.server")
_TURN_ENDS = (events.TurnCompleted, events.TurnFailed, events.TurnInterrupted)


class GoalAgents(Protocol):
    """The agents of one space."""

    connection: Connection
    service: ConversationService
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
        session = ConversationSession(self._agents.at_machine, "", agent, may_send=_needs_nobody)
        version = (await self._agents.connection.dispatcher.open(agent)).state.version
        async with aclosing(self._agents.runner.watch(agent, version)) as shown:
            await session.accept_goal()
            await self._step(session, agent)
            async for each in shown:
                event = each.what.event if isinstance(each.what, events.Recorded) else None
                if isinstance(event, events.GoalEnded) and not await self._has_goal(agent):
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


def _needs_nobody(queued: str) -> bool:
    """Whether a text of the queue needs no more than the scopes to read and to write.

    Anybody may have put it there. Nobody is asked while a goal continues, so the rest waits for a
    person. What a command reads is shown to nobody here.
    """
    return scopes_to_send(queued) <= {"read", "write"}


class LimitWaits:
    """Asks again when the limit of a provider resets, if a person typed the prompt on the page.

    It works while no page is open. A restart of the server ends it: the page then offers to retry.
    """

    def __init__(self, agents: GoalAgents, goals: GoalRuns) -> None:
        self._agents = agents
        self._goals = goals
        self._watching: dict[AgentId, asyncio.Task[None]] = {}
        self._waiting: dict[AgentId, asyncio.Task[None]] = {}
        self._asking: set[AgentId] = set()

    def start(self, agent: AgentId, after: int, actor: events.Actor) -> None:
        """Follows an agent after this version, until none of its turns is open."""
        if agent not in self._watching:
            self._watching[agent] = asyncio.create_task(self._watch(agent, after, actor))

    def covers(self, agent: AgentId) -> bool:
        """Whether a turn of the agent that fails by a limit is asked again."""
        return agent in self._watching

    def stop(self, agent: AgentId) -> bool:
        """Does not ask again; returns whether that was about to happen."""
        if agent not in self._waiting:
            return False
        self._wait_no_more(agent)
        self._watching.pop(agent).cancel()
        return True

    async def close(self) -> None:
        """Stops."""
        for task in (tasks := [*self._watching.values(), *self._waiting.values()]):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _watch(self, agent: AgentId, after: int, actor: events.Actor) -> None:
        try:
            async with aclosing(self._agents.runner.watch(agent, after)) as shown:
                async for each in shown:
                    if isinstance(each.what, events.Recorded):
                        self._follow(agent, each.what, actor)
                        if await self._is_over(agent, each.what):
                            return
        except (SapwoodError, Failure):
            _log.exception("%s is not followed.", agent)
        finally:
            if self._watching.get(agent) is asyncio.current_task():
                self._wait_no_more(agent)
                del self._watching[agent]

    def _follow(self, agent: AgentId, recorded: events.Recorded, actor: events.Actor) -> None:
        event = recorded.event
        if isinstance(event, events.TurnStarted):
            self._wait_no_more(agent)
        elif isinstance(event, events.TurnFailed) and resets_soon(event.retry_at, recorded.at):
            once = f"retry-{agent}-{recorded.version}"
            waiting = asyncio.create_task(self._retry(agent, event.retry_at, Person(actor, once)))
            self._waiting[agent] = waiting

    def _wait_no_more(self, agent: AgentId) -> None:
        waiting = self._waiting.pop(agent, None)
        if waiting is not None:
            waiting.cancel()

    async def _is_over(self, agent: AgentId, recorded: events.Recorded) -> bool:
        state = (await self._agents.connection.dispatcher.open(agent)).state
        is_idle = state.open is None and state.version <= recorded.version
        goes_on = agent in self._waiting or agent in self._asking or self._goals.runs(agent)
        return is_idle and not goes_on

    async def _retry(self, agent: AgentId, at: int, person: Person) -> None:
        await asyncio.sleep(max(0.0, (at - now()) / 1_000_000))
        del self._waiting[agent]  # from now on, the start of the turn ends nothing
        self._asking.add(agent)
        try:
            with suppress(SapwoodError, Failure):  # then the page offers to retry
                await self._agents.service.answer(agent, CommandStep(TABLE["retry"]), caller=person)
        finally:
            self._asking.discard(agent)


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
