"""A space whose agents run: models, tools, engine and scheduler wired to a connection."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress

from msgspec import Struct

from sapwood.app.connection import Connection
from sapwood.core.calling import Delta
from sapwood.core.events import Recorded
from sapwood.core.ids import AgentId
from sapwood.core.refusals import Refusal
from sapwood.core.secrets import mask_secrets
from sapwood.runtime.compaction import Compactor
from sapwood.runtime.dispatch import Done
from sapwood.runtime.driver import Driver
from sapwood.runtime.engine import Engine
from sapwood.runtime.model import ModelAccess
from sapwood.runtime.scheduling import Scheduler
from sapwood.runtime.slash_tool import slash_spec
from sapwood.runtime.toolbox import Toolbox

__all__ = ["Running", "Shown"]


class Shown(Struct, frozen=True):
    """What a screen is told: an event of the log, or a piece of an answer on its way."""

    agent: AgentId
    what: Recorded | Delta


class Running:
    """Agents that answer. Deltas go to whoever listens in this process; events are in the log."""

    def __init__(
        self,
        connection: Connection,
        engine: Engine,
        models: ModelAccess,
        toolbox: Toolbox,
        secrets: Mapping[str, str] | None = None,
    ) -> None:
        self.connection = connection
        self._models = models
        self._toolbox = toolbox
        self._listeners: set[Callable[[AgentId, Delta], None]] = set()
        self._known = tuple((secrets or {}).values())
        self._scheduler = Scheduler(connection.space, engine)
        connection.dispatcher.on_commit(self._scheduler.committed)

    async def start(self) -> None:
        """Begins to run agents, those with unfinished work first."""
        connection = self.connection
        driver = Driver(
            connection.log,
            connection.space,
            connection.dispatcher,
            self._models,
            self._toolbox,
            connection.counter_for,
            clean=self._clean,
            show=self._tell,
        )
        await self._scheduler.start(driver)

    async def close(self) -> None:
        """Stops running agents. Open turns stay open and go on when something runs them again."""
        await self._scheduler.close()
        await self._toolbox.close()

    async def compact(self, agent: AgentId, keep: int = 0) -> Done | Refusal:
        """Puts a checked summary in place of the history. Raises `Failure`."""
        held = self.connection
        tools = (slash_spec(), *await self._toolbox.specs())
        compactor = Compactor(held.dispatcher, self._models, held.counter_for, tools)
        return await compactor.compact(agent, keep)

    async def watch(self, agent: AgentId, after: int) -> AsyncIterator[Shown]:
        """Events of an agent after a version and pieces of its answers, as they come."""
        queue: asyncio.Queue[Shown] = asyncio.Queue()

        def listen(of: AgentId, delta: Delta) -> None:
            if of == agent:
                queue.put_nowait(Shown(of, delta))

        async def follow() -> None:
            async for recorded in self.connection.log.follow(self.connection.space, agent, after):
                queue.put_nowait(Shown(agent, recorded))

        self._listeners.add(listen)
        following = asyncio.ensure_future(follow())
        try:
            while True:
                yield await queue.get()
        finally:
            self._listeners.discard(listen)
            following.cancel()
            with suppress(asyncio.CancelledError):
                await following

    def _clean(self, text: str) -> str:
        return mask_secrets(text, self._known)

    def _tell(self, agent: AgentId, delta: Delta) -> None:
        for listen in tuple(self._listeners):
            listen(agent, delta)
