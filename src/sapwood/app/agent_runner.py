"""Runs the agents of a space: wires models, tools, engine and scheduler to a connection."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import Struct

from sapwood.app.connection import Connection
from sapwood.app.prompt_end import DriveFailure as DriveFailure
from sapwood.app.prompt_end import StreamedWords
from sapwood.conversation.call import Services
from sapwood.conversation.model_tool import ModelCommandTool
from sapwood.conversation.service import ConversationService
from sapwood.conversation.session_changes import sync_session
from sapwood.core.commands import CommandMeta, InterruptTurn
from sapwood.core.events import Recorded
from sapwood.core.ids import AgentId
from sapwood.core.model_calls import Delta, Failure, ToolSpec
from sapwood.core.refusals import Refusal
from sapwood.core.state import State
from sapwood.core.turn_params import TurnParams
from sapwood.programs.agent_provider import AgentProvider, ProgramAccess, SessionBusy
from sapwood.programs.registry import program_executor
from sapwood.turns.checkpoints import Checkpoints
from sapwood.turns.clock_and_ids import command_meta
from sapwood.turns.commit_tasks import ExtensionTasks
from sapwood.turns.dispatch import Done
from sapwood.turns.driver import Driver
from sapwood.turns.model_access import ModelAccess, params_of
from sapwood.turns.program_summary import ProgramSummaries
from sapwood.turns.scheduler import Engine, Scheduler
from sapwood.turns.titles import TitleTasks
from sapwood.turns.tool_calls import Toolbox, offered_tools
from sapwood.turns.trace import Tracing, Untraced

if TYPE_CHECKING:
    from sapwood.workspace.background_jobs import BackgroundJobs

_log = logging.getLogger("sapwood.programs")


class AgentOutput(Struct, frozen=True):
    """One item of `AgentRunner.watch`: an event, a piece of a reply, or a failure."""

    agent: AgentId
    what: Recorded | Delta | DriveFailure


def _is_program(model: str) -> bool:
    return program_executor(model) is not None


class AgentRunner:
    """Drives the agents of one space while it is started.

    Events reach watchers through the log, also the words of a reply that is still arriving.
    `secrets` are API keys by account, which are masked in all texts. `closing` are functions to
    await when the runner closes. `programs` run the turns of agents whose model names a program.
    With `commands`, models have the tool for slash commands. `params` are parameters of all turns.
    `fallback` are models to go on with when one fails. `jobs` are the background commands that run
    in this process. `title_model` writes titles; empty if no model does.
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
        reconfigure: Callable[[Mapping[str, str], Mapping[str, str]], None] | None = None,
        programs: ProgramAccess | None = None,
        commands: bool = True,
        params: TurnParams | None = None,
        fallback: Sequence[str] = (),
        jobs: "BackgroundJobs | None" = None,
        title_model: str = "",
    ) -> None:
        self._fallback = fallback
        self.jobs = jobs
        self.connection = connection
        self._reconfigure = reconfigure
        self._engine = engine
        self._models = models
        self._toolbox = toolbox
        service = ConversationService(Services(connection))
        self._commands = ModelCommandTool(service) if commands else None
        self._closing = closing
        self._tracing = tracing or Untraced()
        self._checkpoints = checkpoints
        self._params = params
        self.programs = programs
        self._listeners: set[Callable[[AgentId, DriveFailure], None]] = set()
        self._driver: Driver | None = None
        connection.add_secrets((secrets or {}).values())
        self._scheduler = Scheduler(connection.space, engine)
        if connection.wakes is None:  # else they wake agents after each commit
            connection.dispatcher.on_commit(self._scheduler.committed)
        self._extensions = ExtensionTasks(self._extend_summary)
        connection.dispatcher.on_commit(self._extensions.committed)
        self._titles = TitleTasks(connection.dispatcher, models, title_model, _is_program)
        if title_model:
            connection.dispatcher.on_commit(self._titles.tasks.committed)

    async def start(self) -> None:
        """Starts to drive agents, those with unfinished work first."""
        connection = self.connection
        driver = _ReportingDriver(
            connection.dispatcher,
            self._models,
            self._toolbox,
            self._commands,
            tracing=self._tracing,
            checkpoints=self._checkpoints,
            programs=self.programs,
            params=self._params,
            fallback=self._fallback,
        )
        driver.on_failure = self._publish
        self._driver = driver
        await self._scheduler.start(driver)

    async def close(self) -> None:
        """Stops driving agents and closes the tools. Open turns stay open until the next start."""
        await self._extensions.close()
        await self._titles.tasks.close()
        await self._scheduler.close()
        await self._toolbox.close()
        for close in self._closing:
            await close()
        await asyncio.to_thread(self._tracing.close)

    def reconfigure(
        self, keys: Mapping[str, str], urls: Mapping[str, str], fallback: Sequence[str]
    ) -> None:
        """Uses other API keys, addresses and models to go on with, from the next call on."""
        self.connection.add_secrets(keys.values())
        self._fallback = fallback
        if self._driver is not None:
            self._driver.fallback = tuple(fallback)
        if self._reconfigure is not None:
            self._reconfigure(keys, urls)

    async def wake(self, agent: AgentId) -> None:
        """Asks the engine to drive an agent, for example one whose process died in a turn."""
        await self._engine.wake(self.connection.space, agent)

    async def interrupt(self, agent: AgentId, reason: str = "") -> Done | Refusal:
        """Stops the open turn. The words received so far become the reply of the model."""
        dispatcher = self.connection.dispatcher
        turn = (await dispatcher.open(agent)).turn  # another one may be open after the flush
        if self._driver is not None:
            await self._driver.flush(agent)
        return await dispatcher.dispatch(InterruptTurn(agent, reason, turn=turn), command_meta())

    async def compact(
        self,
        agent: AgentId,
        keep: int = 0,
        anyway: bool = False,
        why: CommandMeta | None = None,
        wanted: str = "",
        before_storing: Callable[[], Awaitable[None]] | None = None,
    ) -> Done | Refusal:
        """Replaces the history, except the last `keep` turns, by a checked summary.

        A weak summary is refused, unless a person wants it `anyway`. `why` is the meta data of the
        command that asked for it: its id is that of the summary. `before_storing` is called when
        the model has written it. Raises `Failure` if the model cannot be called.
        """
        from sapwood.turns.compaction import Compactor

        connection = self.connection
        state = (await connection.dispatcher.open(agent)).state
        tools, params = await self._offered(state)
        models = self._models
        if self.programs is not None and program_executor(state.settings.model) is not None:
            models = ProgramSummaries(connection.dispatcher, self.programs, agent)
        compactor = Compactor(
            self.connection.dispatcher,
            models,
            tools,
            self._tracing,
            params,
        )
        return await compactor.compact(
            agent, keep, anyway=anyway, why=why, wanted=wanted, before_storing=before_storing
        )

    async def sync_session(self, agent: AgentId) -> None:
        """Brings the session of the agent's program to the live path, if the agent is at rest.

        Logs a warning if that is not possible now: the next prompt tries again.
        """
        if self.programs is not None:
            await sync_or_warn(self.connection, self.programs.provider, agent)

    async def _offered(self, state: State) -> tuple[tuple[ToolSpec, ...], TurnParams]:
        """The tools and the parameters of the next turn of an agent."""
        params = params_of(state, self._params or TurnParams())
        return await offered_tools(self._toolbox, self._commands, params), params

    async def _extend_summary(
        self, agent: AgentId, next_commit: Callable[[], Awaitable[None]]
    ) -> None:
        from sapwood.turns.summary_extension import SummaryExtension

        connection = self.connection
        state = (await connection.dispatcher.open(agent)).state
        tools, params = await self._offered(state)
        extension = SummaryExtension(
            connection.dispatcher,
            self._models,
            tools,
            self._tracing,
            params,
        )
        await extension.extend(agent, next_commit)

    async def watch(self, agent: AgentId, after: int) -> AsyncGenerator[AgentOutput]:
        """Yields the events of an agent after a version, from any process, as they are stored.

        Yields words of a reply as deltas as soon as they are stored, and the rest of them before
        the event that holds the reply. Never ends by itself. Raises the error with which reading
        the log fails.
        """
        queue: asyncio.Queue[AgentOutput | Exception] = asyncio.Queue()

        def listen(of: AgentId, what: DriveFailure) -> None:
            if of == agent:
                queue.put_nowait(AgentOutput(of, what))

        async def follow() -> None:
            log, space = self.connection.log, self.connection.space
            try:
                streamed = StreamedWords()
                async for what in log.watch(space, agent, after):
                    for delta in streamed.deltas_of(what):
                        queue.put_nowait(AgentOutput(agent, delta))
                    if isinstance(what, Recorded):
                        queue.put_nowait(AgentOutput(agent, what))
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

    def _publish(self, agent: AgentId, what: DriveFailure) -> None:
        for listen in tuple(self._listeners):
            listen(agent, what)


async def sync_or_warn(
    connection: Connection, provider_of: Callable[[str], AgentProvider], agent: AgentId
) -> None:
    """Brings the session of the agent's program to the live path; logs why, if it cannot."""
    try:
        await sync_session(connection, provider_of, agent)
    except (SessionBusy, Failure) as problem:
        _log.warning(
            "The program's session has not been changed yet: %s The next prompt will try again.",
            problem,
        )


class _ReportingDriver(Driver):
    """A driver that also passes its errors to `on_failure`."""

    on_failure: Callable[[AgentId, DriveFailure], None]

    async def drive(self, agent: AgentId) -> float | None:
        try:
            return await super().drive(agent)
        except Exception as error:
            self.on_failure(agent, DriveFailure(str(error) or type(error).__name__))
            raise
