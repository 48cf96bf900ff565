"""Background work after turns that were answered: titles, and the hooks of the person."""

import asyncio
from collections.abc import Awaitable, Callable

from sapwood.core.events import TurnCompleted
from sapwood.core.ids import AgentId
from sapwood.core.log_values import Append


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
