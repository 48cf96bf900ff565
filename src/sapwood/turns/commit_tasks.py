"""Work in the background that commits start: after answered turns, and when a window has moved."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from sapwood.core.errors import LogError
from sapwood.core.events import ContextTrimmed, TurnCompleted
from sapwood.core.ids import AgentId
from sapwood.core.log_values import Append
from sapwood.core.model_calls import Failure

_log = logging.getLogger("sapwood.turns")


class TurnEndTasks:
    """Runs `work` in the background for each answered turn: its agent, and the version of its end.

    Give `committed` to the dispatcher.
    """

    def __init__(self, work: Callable[[AgentId, int], Awaitable[None]]) -> None:
        self._work = work
        self._tasks: set[asyncio.Future[None]] = set()

    def committed(self, appends: tuple[Append, ...]) -> None:
        """Takes note of commits."""
        for append in appends:
            for recorded in append.events:
                if isinstance(recorded.event, TurnCompleted):
                    task = asyncio.ensure_future(self._work(append.agent, recorded.version))
                    self._tasks.add(task)
                    task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Ends what runs."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class ExtensionTasks:
    """Starts `extend` for each agent whose window has moved, and one at a time for each agent."""

    def __init__(
        self, extend: Callable[[AgentId, Callable[[], Awaitable[None]]], Awaitable[object]]
    ) -> None:
        self._extend = extend
        self._tasks: dict[AgentId, asyncio.Task[None]] = {}
        self._commits: dict[AgentId, asyncio.Event] = {}

    def committed(self, appends: tuple[Append, ...]) -> None:
        """Takes note of commits. Another move of the window replaces work on an earlier one."""
        for append in appends:
            if commit := self._commits.get(append.agent):
                commit.set()
            if any(_moves_window(recorded.event) for recorded in append.events):
                self._start(append.agent)

    async def close(self) -> None:
        """Stops all work. Summaries that are not written yet change nothing."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _start(self, agent: AgentId) -> None:
        if before := self._tasks.get(agent):
            before.cancel()
        task = asyncio.ensure_future(self._run(agent))
        self._tasks[agent] = task
        task.add_done_callback(lambda _: self._forget(agent, task))

    def _forget(self, agent: AgentId, task: asyncio.Task[None]) -> None:
        if self._tasks.get(agent) is task:
            del self._tasks[agent]
            self._commits.pop(agent, None)

    async def _run(self, agent: AgentId) -> None:
        commit = self._commits.setdefault(agent, asyncio.Event())

        async def next_commit() -> None:
            await commit.wait()
            commit.clear()

        try:
            await self._extend(agent, next_commit)
        except (Failure, LogError) as problem:
            _log.info("the summary of '%s' was not extended: %s", agent, problem)


def _moves_window(event: object) -> bool:
    return isinstance(event, ContextTrimmed) and event.cause == "window" and event.turns > 0
