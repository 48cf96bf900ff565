"""Runs the agents of a space: wires models, tools, engine and scheduler to a connection."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import suppress

from msgspec import Struct

from sapwood.app.connection import Connection
from sapwood.conversation.call import Services
from sapwood.conversation.model_tool import ModelCommandTool
from sapwood.conversation.service import ConversationService
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
from sapwood.core.log_values import Append
from sapwood.core.model_calls import Delta
from sapwood.core.refusals import Refusal
from sapwood.runtime.checkpoints import Checkpoints
from sapwood.runtime.clock_and_ids import command_meta
from sapwood.runtime.compaction import Compactor
from sapwood.runtime.dispatch import Done
from sapwood.runtime.driver import Driver
from sapwood.runtime.model_access import ModelAccess
from sapwood.runtime.scheduler import Engine, Scheduler
from sapwood.runtime.tool_calls import Toolbox
from sapwood.runtime.trace import Tracing, Untraced

__all__ = ["AgentOutput", "AgentRunner", "DriveFailure"]


class DriveFailure(Struct, frozen=True):
    """Driving an agent failed with an error that is not in its log. The engine tries again."""

    message: str


class AgentOutput(Struct, frozen=True):
    """One item of `AgentRunner.watch`: an event, a piece of a reply, or a failure."""

    agent: AgentId
    what: Recorded | Delta | DriveFailure


class _PartialReply(Struct):
    """The text received so far in reply to the model call at version `called_at`."""

    called_at: int = 0
    text: str = ""


class AgentRunner:
    """Drives the agents of one space while it is started.

    Pieces of replies reach watchers in this process only. Events reach watchers through the log.
    `secrets` are API keys by account, which are masked in all texts. `closing` are functions to
    await when the runner closes.
    """

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
        self._commands = ModelCommandTool(ConversationService(Services(connection)))
        self._closing = closing
        self._tracing = tracing or Untraced()
        self._checkpoints = checkpoints
        self._listeners: set[Callable[[AgentId, Delta | DriveFailure], None]] = set()
        connection.add_secrets((secrets or {}).values())
        self._scheduler = Scheduler(connection.space, engine)
        self._partial_replies: dict[AgentId, _PartialReply] = {}
        connection.dispatcher.on_commit(self._scheduler.committed)
        connection.dispatcher.on_commit(self._committed)

    async def start(self) -> None:
        """Starts to drive agents, those with unfinished work first."""
        connection = self.connection
        driver = _ReportingDriver(
            connection.log,
            connection.space,
            connection.dispatcher,
            self._models,
            self._toolbox,
            self._commands,
            connection.counter_for,
            show=self._publish,
            tracing=self._tracing,
            checkpoints=self._checkpoints,
        )
        driver.on_failure = self._publish
        await self._scheduler.start(driver)

    async def close(self) -> None:
        """Stops driving agents and closes the tools. Open turns stay open until the next start."""
        await self._scheduler.close()
        await self._toolbox.close()
        for close in self._closing:
            await close()
        await asyncio.to_thread(self._tracing.close)

    async def wake(self, agent: AgentId) -> None:
        """Asks the engine to drive an agent, for example one whose process died in a turn."""
        await self._engine.wake(self.connection.space, agent)

    async def interrupt(self, agent: AgentId, reason: str = "") -> Done | Refusal:
        """Stops the open turn. The text received so far becomes the reply of the model."""
        dispatcher = self.connection.dispatcher
        turn = (await dispatcher.open(agent)).turn
        partial = self._partial_replies.get(agent, _PartialReply())
        command = InterruptTurn(agent, reason, partial.text.strip(), partial.called_at, turn=turn)
        return await dispatcher.dispatch(command, command_meta())

    async def compact(self, agent: AgentId, keep: int = 0) -> Done | Refusal:
        """Replaces the history, except the last `keep` turns, by a checked summary.

        Raises `Failure` if the model cannot be called.
        """
        tools = (self._commands.spec(), *await self._toolbox.specs())
        compactor = Compactor(
            self.connection.dispatcher,
            self._models,
            self.connection.counter_for,
            tools,
            self._tracing,
        )
        return await compactor.compact(agent, keep)

    async def watch(self, agent: AgentId, after: int) -> AsyncGenerator[AgentOutput]:
        """Yields the events of an agent after a version, and pieces of its replies as they arrive.

        Never ends by itself. Raises the error with which reading the log fails.
        """
        queue: asyncio.Queue[AgentOutput | Exception] = asyncio.Queue()

        def listen(of: AgentId, what: Delta | DriveFailure) -> None:
            if of == agent:
                queue.put_nowait(AgentOutput(of, what))

        async def follow() -> None:
            log, space = self.connection.log, self.connection.space
            try:
                async for recorded in log.follow(space, agent, after):
                    queue.put_nowait(AgentOutput(agent, recorded))
            except Exception as error:  # raised again to the caller below
                queue.put_nowait(error)

        self._listeners.add(listen)
        following = asyncio.ensure_future(follow())
        try:
            while True:
                item = await queue.get()
                if isinstance(item, Exception):
                    raise item
                yield item
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
                        self._partial_replies[append.agent] = _PartialReply(recorded.version)
                    case ReplyAdded() | TurnCompleted() | TurnInterrupted() | TurnFailed():
                        self._partial_replies.pop(append.agent, None)
                    case _:
                        pass

    def _publish(self, agent: AgentId, what: Delta | DriveFailure) -> None:
        if isinstance(what, Delta) and what.kind == "text" and agent in self._partial_replies:
            self._partial_replies[agent].text += what.text
        for listen in tuple(self._listeners):
            listen(agent, what)


class _ReportingDriver(Driver):
    """A driver that also passes its errors to `on_failure`."""

    on_failure: Callable[[AgentId, DriveFailure], None]

    async def drive(self, agent: AgentId) -> float | None:
        try:
            return await super().drive(agent)
        except Exception as error:
            self.on_failure(agent, DriveFailure(str(error) or type(error).__name__))
            raise
