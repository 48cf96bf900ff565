"""One space as the server shows it: its agents, the feeds of their events, open conversations."""

import asyncio
import logging
import os
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing

from msgspec import structs

from sapwood.analysis.chapter_report import ChapterReport
from sapwood.app.agent_runner import AgentRunner
from sapwood.app.connection import Connection
from sapwood.app.health_server import Health
from sapwood.app.prompt_end import DriveFailure
from sapwood.app.running_space import RunningSpace
from sapwood.app.space_runners import space_folder
from sapwood.config.changed_files import ConfigFiles
from sapwood.config.config_file import Config, ConfigError
from sapwood.conversation.conversation_list import ConversationStates
from sapwood.conversation.machine_sessions import MachineSessions
from sapwood.conversation.mentions import WorkspaceFiles
from sapwood.conversation.open_timeline import OpenTimeline
from sapwood.conversation.service import ConversationService
from sapwood.conversation.surroundings import chapters_in_view
from sapwood.core.errors import SpaceMoved
from sapwood.core.events import Recorded
from sapwood.core.ids import AgentId, Space
from sapwood.core.model_calls import Delta, RetryWait
from sapwood.core.state import State
from sapwood.engine import keep_awake
from sapwood.turns.log import MovableLog
from sapwood_server.answered_requests import AnsweredRequests
from sapwood_server.event_feed import AgentFeeds
from sapwood_server.shown_sessions import SessionCatchUp
from sapwood_server.space_feed import SpaceFeed
from sapwood_server.typed_work import GoalRuns, LimitWaits, ShellLines

_log = logging.getLogger("sapwood.server")


class ServedAgents(RunningSpace):
    """One space of a database with what runs its agents.

    Without `drives`, prompts are stored and a worker of another process answers them.
    """

    def __init__(
        self, connection: Connection, config: Config, keys: Mapping[str, str], *, drives: bool
    ) -> None:
        super().__init__(
            connection,
            config,
            keys,
            _log.error,
            for_workers=True,
            ask_seconds=config.ask_seconds,
            on_wait=lambda wait: self.on_wait(wait),
        )
        self.on_wait: Callable[[RetryWait], None] = lambda _: None
        """Called before each wait for another attempt of a model call."""
        self.folder = os.getcwd() if connection.folder is None else connection.folder.path
        """The folder of new conversations that name no other; empty if they have none."""
        self._drives = drives
        self._waking: asyncio.Task[None] | None = None
        if drives:
            _ = self.runner  # it has to hear of every prompt

    def configure(self, config: Config, keys: Mapping[str, str]) -> None:
        """Replaces the configuration; new conversations and the next calls of models use it."""
        super().configure(config, keys)
        services = self.service.services
        picking = structs.replace(services, picks=True)
        self.picking = ConversationService(picking)
        """The same service for a face that lets a person pick a missing argument."""
        self.at_machine = ConversationService(structs.replace(picking, on_this_machine=True))
        """The same service for the person at the machine, who typed into the page."""

    def start(self) -> None:
        """Starts to run agents in the background, once; those with unfinished work first."""
        if self._drives:
            super().start()

    async def started(self) -> AgentRunner:
        """Starts to run agents, once, and keeps those awake that have work to do."""
        runner = await super().started()
        if self._waking is None:
            connection = self.connection
            self._waking = asyncio.ensure_future(
                keep_awake(connection.log, self.engine, [connection.space])
            )
        return runner

    async def close(self) -> None:
        """Stops running agents. Open turns stay open; the next process continues them."""
        if self._waking is not None:
            self._waking.cancel()
            await asyncio.gather(self._waking, return_exceptions=True)
        await super().close()


_TIMELINES = 32
_ALL_TIMELINES = 128
_FOLDERS = 4
_MAX_TURNS = 300
"""With more turns in view, chapters would take too long for a page."""
_BEAT = 15.0


class OpenTimelines:
    """The open conversations of all spaces of a process.

    The one that was read longest ago is closed first: of a space that has too many, then of all.
    """

    def __init__(self) -> None:
        self._open: OrderedDict[tuple[Connection, AgentId], OpenTimeline] = OrderedDict()

    def get(self, connection: Connection, agent: AgentId) -> OpenTimeline:
        """The open conversation of an agent."""
        key = (connection, agent)
        found = self._open.get(key)
        if found is None:
            found = self._open[key] = OpenTimeline(connection, agent)
        self._open.move_to_end(key)
        self._close(self._of(connection)[:-_TIMELINES])
        self._close([*self._open][:-_ALL_TIMELINES])
        return found

    def close(self, connection: Connection) -> None:
        """Closes those of the space of a connection."""
        self._close(self._of(connection))

    def _of(self, connection: Connection) -> list[tuple[Connection, AgentId]]:
        return [key for key in self._open if key[0] is connection]

    def _close(self, keys: Sequence[tuple[Connection, AgentId]]) -> None:
        for key in keys:
            self._open.pop(key).close()


class ServedSpace:
    """A space with what readers of its conversations share."""

    def __init__(
        self, agents: ServedAgents, health: Health | None, timelines: OpenTimelines
    ) -> None:
        self.agents = agents
        self.health = health
        """The numbers of the process. They name every space, so only the server's own has them."""
        self.connection = agents.connection
        self.feeds = AgentFeeds(self.connection.log, self.connection.space)
        agents.on_wait = self.feeds.show_wait
        self.feed = SpaceFeed(self.connection.log, self.connection.space)
        self.machine_sessions = MachineSessions()
        self.states = ConversationStates(self.connection)
        self._chapters: OrderedDict[AgentId, tuple[int, int, ChapterReport]] = OrderedDict()
        self._timelines = timelines
        self._files: OrderedDict[str, WorkspaceFiles] = OrderedDict()
        self._stopping = asyncio.Event()
        self.goals = GoalRuns(agents)
        self.limits = LimitWaits(agents, self.goals)
        self.shell_lines = ShellLines()
        self.session_catch_up = SessionCatchUp(lambda: agents.service.services.sessions)

    async def watch(
        self, agent: AgentId, after: int
    ) -> AsyncGenerator[Recorded | Delta | DriveFailure | None]:
        """Yields what happens to an agent after a version, until the server stops.

        Words of a reply come before the event that holds them; None says that nothing happened
        for a while.
        """
        stopping = asyncio.ensure_future(self._stopping.wait())
        async with aclosing(self.agents.runner.watch(agent, after)) as shown:
            following = asyncio.ensure_future(anext(shown))
            try:
                while not self._stopping.is_set():
                    done, _ = await asyncio.wait(
                        {following, stopping}, timeout=_BEAT, return_when=asyncio.FIRST_COMPLETED
                    )
                    if following in done:
                        if isinstance(following.exception(), SpaceMoved):
                            return  # the follower connects again, and gets to the other cell
                        yield following.result().what
                        following = asyncio.ensure_future(anext(shown))
                    elif not done:
                        yield None
            finally:
                for task in (following, stopping):
                    task.cancel()
                await asyncio.gather(following, stopping, return_exceptions=True)

    def timeline(self, agent: AgentId) -> OpenTimeline:
        """The open conversation of an agent."""
        return self._timelines.get(self.connection, agent)

    async def workspace_files(self, folder: str) -> WorkspaceFiles:
        """The files of a folder, for `@`; those of a few folders are kept."""
        root = await asyncio.to_thread(os.path.realpath, folder)
        found = self._files.setdefault(root, WorkspaceFiles())
        self._files.move_to_end(root)
        while len(self._files) > _FOLDERS:
            self._files.popitem(last=False)
        await found.refresh(root)
        return found

    def end_streams(self) -> None:
        """Ends everything that follows an agent, so that the server can stop."""
        self._stopping.set()
        self.feeds.close()
        self.feed.close()

    async def chapters(self, state: State) -> ChapterReport | None:
        """The chapters of what is in view; None while a turn is open, and if there is too much."""
        created, version, report = self._chapters.get(state.agent, (0, 0, None))
        if created == state.created and (state.open is not None or version == state.version):
            return report
        opened = await self.connection.dispatcher.open(state.agent)
        if state.open is not None or not 1 < len(opened.live.turns) <= _MAX_TURNS:
            return None
        report = await chapters_in_view(self.connection, state.agent)
        self._chapters[state.agent] = (state.created, state.version, report)
        while len(self._chapters) > _TIMELINES:
            self._chapters.popitem(last=False)
        return report

    async def close(self) -> None:
        """Ends all streams and stops running agents."""
        self.end_streams()
        await self.shell_lines.close()
        await self.session_catch_up.close()
        await self.limits.close()
        await self.goals.close()
        self._timelines.close(self.connection)
        await self.agents.close()


class ServedSpaces:
    """The spaces of one database, each opened at its first use.

    `own`: the space of the connection is that of the person who started the server, so its agents
    work in any folder. Agents of other spaces work in the folders that the configuration gives.
    """

    def __init__(
        self,
        connection: Connection,
        config: Config,
        keys: Mapping[str, str],
        *,
        drives: bool,
        own: bool = False,
    ) -> None:
        self._own = own
        self._connection = connection
        self._config = config
        self._keys = keys
        self._files = ConfigFiles()
        self._drives = drives
        self._spaces: dict[str, ServedSpace] = {}
        self._timelines = OpenTimelines()
        self._closing: set[asyncio.Future[None]] = set()
        self.answered = AnsweredRequests()
        self.health = Health(connection)
        self.draining = False
        """Whether the server is about to stop: it is not ready for new clients."""

    def get(self, name: str) -> ServedSpace:
        """The space of this name."""
        found = self._spaces.get(name)
        if found is None:
            connection = self._connection
            is_home = name == connection.space
            if not is_home:
                connection = connection.with_space(name)
            connection.folder = space_folder(self._config, name, own=self._own and is_home)
            agents = ServedAgents(connection, self._config, self._keys, drives=self._drives)
            health = self.health if is_home else None
            found = self._spaces[name] = ServedSpace(agents, health, self._timelines)
        return found

    async def require_here(self, name: str) -> None:
        """Returns if the database has this space. Raises `SpaceMoved` if another one has it.

        Each request asks the database, so that no two cells answer for a space. Forgets a space
        that has moved: it may return with more events.
        """
        log = self._connection.log
        if not isinstance(log, MovableLog):
            return
        try:
            await log.require_here(Space(name))
        except SpaceMoved:
            if name != self._connection.space and (gone := self._spaces.pop(name, None)):
                gone.end_streams()
                closing = asyncio.ensure_future(gone.close())
                self._closing.add(closing)
                closing.add_done_callback(self._closing.discard)
            raise

    def read_configuration(self) -> None:
        """Reads the configuration and the API keys again if one of their files has changed.

        What the server was started with stays, and so does everything if a file cannot be used.
        """
        try:
            found = self._files.read_again(self._config)
        except ConfigError as error:
            _log.warning("The new configuration was not applied. %s", error)
            return
        if found is None:
            return
        self._config, self._keys = found
        for space in self._spaces.values():
            space.agents.configure(self._config, self._keys)

    def end_streams(self) -> None:
        """Ends all event streams, so that the server can stop."""
        for space in self._spaces.values():
            space.end_streams()

    async def close(self) -> None:
        """Closes all spaces."""
        await asyncio.gather(*self._closing)
        for space in self._spaces.values():
            await space.close()
