"""A space whose agents run: models, tools, engine and scheduler wired to a connection."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import suppress

from msgspec import Struct

from sapwood.app.connection import Connection
from sapwood.core.calling import Delta
from sapwood.core.commands import InterruptTurn
from sapwood.core.events import (
    ModelCalled,
    Recorded,
    ReplyAdded,
    TurnCompleted,
    TurnFailed,
    TurnInterrupted,
)
from sapwood.core.ids import AgentId
from sapwood.core.log import Append
from sapwood.core.refusals import Refusal
from sapwood.runtime.checkpoints import Checkpoints
from sapwood.runtime.compaction import Compactor
from sapwood.runtime.dispatch import Done
from sapwood.runtime.driver import Driver
from sapwood.runtime.engine import Engine
from sapwood.runtime.fresh import given
from sapwood.runtime.model import ModelAccess
from sapwood.runtime.scheduling import Scheduler
from sapwood.runtime.slash_tool import slash_spec
from sapwood.runtime.toolbox import Toolbox
from sapwood.runtime.tracing import Tracing, Untraced

__all__ = ["Running", "Shown", "Trouble"]


class Trouble(Struct, frozen=True):
    """Driving an agent failed for a reason that is not in its log. It is tried again."""

    sentence: str


class Shown(Struct, frozen=True):
    """What a screen is told: an event, a piece of an answer on its way, or trouble."""

    agent: AgentId
    what: Recorded | Delta | Trouble


class _Partial(Struct):
    """What came so far of the answer to the model call at version `asked`."""

    asked: int = 0
    text: str = ""


class Running:
    """Agents that answer. Deltas go to whoever listens in this process; events are in the log."""

    def __init__(
        self,
        connection: Connection,
        engine: Engine,
        models: ModelAccess,
        toolbox: Toolbox,
        secrets: Mapping[str, str] | None = None,
        closing: Sequence[Callable[[], Awaitable[None]]] = (),
        tracing: Tracing | None = None,
        checkpoints: Checkpoints | None = None,
    ) -> None:
        self.connection = connection
        self._engine = engine
        self._models = models
        self._toolbox = toolbox
        self._closing = closing
        self._tracing = tracing or Untraced()
        self._checkpoints = checkpoints
        self._listeners: set[Callable[[AgentId, Delta | Trouble], None]] = set()
        connection.know_secrets((secrets or {}).values())
        self._scheduler = Scheduler(connection.space, engine)
        self._partial: dict[AgentId, _Partial] = {}
        connection.dispatcher.on_commit(self._scheduler.committed)
        connection.dispatcher.on_commit(self._committed)

    async def start(self) -> None:
        """Begins to run agents, those with unfinished work first."""
        connection = self.connection
        driver = _Watched(
            connection.log,
            connection.space,
            connection.dispatcher,
            self._models,
            self._toolbox,
            connection.counter_for,
            show=self._tell,
            tracing=self._tracing,
            checkpoints=self._checkpoints,
        )
        driver.in_trouble = self._tell
        await self._scheduler.start(driver)

    async def close(self) -> None:
        """Stops running agents. Open turns stay open and go on when something runs them again."""
        await self._scheduler.close()
        await self._toolbox.close()
        for close in self._closing:
            await close()
        await asyncio.to_thread(self._tracing.close)

    async def wake(self, agent: AgentId) -> None:
        """Has an agent looked at: its open turn, left behind by a process that died, goes on."""
        await self._engine.wake(self.connection.space, agent)

    async def interrupt(self, agent: AgentId, reason: str = "") -> Done | Refusal:
        """Stops the open turn. What came of an answer so far is kept as the model's words."""
        dispatcher = self.connection.dispatcher
        turn = (await dispatcher.open(agent)).turn
        partial = self._partial.get(agent, _Partial())
        command = InterruptTurn(agent, reason, partial.text.strip(), partial.asked, turn=turn)
        return await dispatcher.dispatch(command, given())

    async def compact(self, agent: AgentId, keep: int = 0) -> Done | Refusal:
        """Puts a checked summary in place of the history. Raises `Failure`."""
        held = self.connection
        tools = (slash_spec(), *await self._toolbox.specs())
        compactor = Compactor(held.dispatcher, self._models, held.counter_for, tools, self._tracing)
        return await compactor.compact(agent, keep)

    async def watch(self, agent: AgentId, after: int) -> AsyncGenerator[Shown]:
        """Events of an agent after a version and pieces of its answers, as they come."""
        queue: asyncio.Queue[Shown | Exception] = asyncio.Queue()

        def listen(of: AgentId, what: Delta | Trouble) -> None:
            if of == agent:
                queue.put_nowait(Shown(of, what))

        async def follow() -> None:
            log, space = self.connection.log, self.connection.space
            try:
                async for recorded in log.follow(space, agent, after):
                    queue.put_nowait(Shown(agent, recorded))
            except Exception as problem:  # whoever watches must hear of it
                queue.put_nowait(problem)

        self._listeners.add(listen)
        following = asyncio.ensure_future(follow())
        try:
            while True:
                shown = await queue.get()
                if isinstance(shown, Exception):
                    raise shown
                yield shown
        finally:
            self._listeners.discard(listen)
            following.cancel()
            with suppress(asyncio.CancelledError):
                await following

    def _committed(self, appends: tuple[Append, ...]) -> None:
        for append in appends:
            for recorded in append.events:
                match recorded.event:
                    case ModelCalled(instruction=""):
                        self._partial[append.agent] = _Partial(recorded.version)
                    case ReplyAdded() | TurnCompleted() | TurnInterrupted() | TurnFailed():
                        self._partial.pop(append.agent, None)
                    case _:
                        pass

    def _tell(self, agent: AgentId, what: Delta | Trouble) -> None:
        if isinstance(what, Delta) and what.kind == "text" and agent in self._partial:
            self._partial[agent].text += what.text
        for listen in tuple(self._listeners):
            listen(agent, what)


class _Watched(Driver):
    """A driver that tells when driving an agent fails; the engine tries again."""

    in_trouble: Callable[[AgentId, Trouble], None]

    async def drive(self, agent: AgentId) -> float | None:
        try:
            return await super().drive(agent)
        except Exception as problem:
            sentence = str(problem) or type(problem).__name__
            self.in_trouble(agent, Trouble(sentence))
            raise
