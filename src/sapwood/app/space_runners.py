"""Runs the agents of many spaces with one engine. Each space gets a runner when it has work.

Decides in which folder the agents of a space work, in a server and in a worker.
"""

import asyncio
import fnmatch
import logging
import os
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import asynccontextmanager

from msgspec import Struct

from sapwood.app.agent_runner import AgentRunner
from sapwood.app.connection import Connection
from sapwood.config.config_file import Config
from sapwood.config.space_folders import ANY, folder_of, is_made
from sapwood.core.errors import KeyMissing, SapwoodError
from sapwood.core.ids import AgentId, Space
from sapwood.engine import NotServed, keep_awake
from sapwood.engine.reconciliation import working_spaces
from sapwood.turns.scheduler import Drive, Engine
from sapwood.workspace.space_folder import SpaceFolder

_log = logging.getLogger(__name__)
_MAX_IDLE = 200
"""Runners without work that are kept, so that the next turn of their space starts sooner."""

MakeRunner = Callable[[Connection, Engine], AgentRunner]
"""Makes the runner of a space, not started yet."""


class SpacePattern(Struct, frozen=True):
    """Which spaces a worker serves: names, with `*` and `?` as in file names.

    >>> pattern = SpacePattern(("acme-*", "local"))
    >>> pattern.covers(Space("acme-7")), pattern.covers(Space("other"))
    (True, False)
    """

    patterns: tuple[str, ...]

    @classmethod
    def of(cls, spaces: str | Iterable[str]) -> "SpacePattern":
        """The pattern for one name or several."""
        return cls((spaces,) if isinstance(spaces, str) else tuple(spaces))

    def covers(self, space: Space) -> bool:
        """Whether the worker serves this space."""
        return any(fnmatch.fnmatchcase(space, pattern) for pattern in self.patterns)

    @property
    def has_several(self) -> bool:
        """Whether it may cover more than one space."""
        return self.names is None or len(self.patterns) > 1

    @property
    def names(self) -> tuple[Space, ...] | None:
        """The spaces, if each of them is named; None if there are patterns among them."""
        if any(set(pattern) & set("*?[") for pattern in self.patterns):
            return None
        return tuple(Space(pattern) for pattern in self.patterns)


class _SpaceEngine:
    """The engine as the runner of one space sees it."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.drive: Drive | None = None

    async def launch(self, drive: Drive) -> None:
        """Keeps what drives the agents of the space. The engine itself runs already."""
        self.drive = drive

    async def wake(
        self, space: Space, agent: AgentId, *, model: str = "", user: str = "", delay: float = 0.0
    ) -> None:
        """Asks the engine to drive this agent."""
        await self._engine.wake(space, agent, model=model, user=user, delay=delay)

    async def close(self) -> None:
        """Does nothing: other spaces use the engine."""


class _Served(Struct):
    """A space with a runner: its connection, and how many of its agents are driven now."""

    connection: Connection
    runner: AgentRunner
    engine: _SpaceEngine
    driving: int = 0


class SpaceRunners:
    """Drives the agents of all spaces that a pattern covers.

    `home` is a connection to one space of the log; it is used for that space. Runners of other
    spaces get connections of their own to the same log, and are closed when they are idle and too
    many. Agents of an encrypted space wait for a worker that has its key.
    """

    def __init__(
        self, home: Connection, engine: Engine, spaces: SpacePattern, make: MakeRunner
    ) -> None:
        self._home = home
        self._engine = engine
        self._spaces = spaces
        self._make = make
        self._served: dict[Space, _Served] = {}
        self._without_key: set[Space] = set()
        self._opening = asyncio.Lock()
        self._waking: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Starts to take work, first that of turns which another process left open."""
        await self._engine.launch(self._drive)
        if self._home.wakes is not None:
            self._home.wakes.use(self._engine)
        log = self._home.log
        awake = keep_awake(
            log, self._engine, self._spaces.names or working_spaces(log, self.serves)
        )
        self._waking = asyncio.create_task(awake, name="sapwood-keep-awake")

    async def close(self) -> None:
        """Stops taking work, then closes all runners. Open turns stay open."""
        if self._waking is not None:
            self._waking.cancel()
            await asyncio.wait([self._waking])
        if self._home.wakes is not None:
            self._home.wakes.use(None)
            await self._home.wakes.passed()
        await self._engine.close()
        for space in list(self._served):
            await self._close(space)

    def serves(self, space: Space) -> bool:
        """Whether this worker drives the agents of a space."""
        return self._spaces.covers(space) and space not in self._without_key

    async def interrupt(self, space: Space, agent: AgentId, reason: str = "") -> None:
        """Stops the open turn of an agent, after storing the words that have arrived."""
        async with self._held(space) as served:
            await served.runner.interrupt(agent, reason)

    async def _drive(self, space: Space, agent: AgentId) -> None:
        if not self.serves(space):
            raise NotServed(space)
        try:
            async with self._held(space) as served:
                if served.engine.drive is not None:
                    await served.engine.drive(space, agent)
        except KeyMissing as problem:
            self._without_key.add(space)
            _log.warning("Leaving agents of the space '%s' to another worker: %s", space, problem)
            raise NotServed(space) from problem

    @asynccontextmanager
    async def _held(self, space: Space) -> AsyncGenerator[_Served]:
        served = self._served.get(space) or await self._open(space)
        self._served[space] = self._served.pop(space)  # the last used is the last to be closed
        served.driving += 1
        try:
            yield served
        finally:
            served.driving -= 1

    async def _open(self, space: Space) -> _Served:
        async with self._opening:
            if space in self._served:
                return self._served[space]
            await self._close_idle()
            is_home = space == self._home.space
            connection = self._home if is_home else self._home.with_space(space)
            engine = _SpaceEngine(self._engine)
            served = _Served(connection, self._make(connection, engine), engine)
            await served.runner.start()
            self._served[space] = served
            return served

    async def _close_idle(self) -> None:
        idle = [name for name, served in self._served.items() if not served.driving]
        for name in idle[: max(0, len(self._served) - _MAX_IDLE)]:
            if name != self._home.space:
                await self._close(name)

    async def _close(self, space: Space) -> None:
        served = self._served.pop(space)
        await served.runner.close()
        if served.connection is not self._home:
            await served.connection.close()


def space_folder(config: Config, space: str, *, own: bool) -> SpaceFolder | None:
    """The only folder of a space; None if its agents may work in any.

    `own`: the space is that of the person who started this process, so its agents work in any
    folder unless the configuration gives it one. Every other space has a folder only if the
    configuration gives it one. Raises `SapwoodError` if that folder cannot be used.
    """
    named = folder_of(config.folders, space)
    if named == ANY or (own and not named):
        return None
    if not named:
        return SpaceFolder()
    path = os.path.realpath(named)
    try:
        if is_made(config.folders, space):
            os.makedirs(path, mode=0o700, exist_ok=True)
    except OSError as error:
        raise SapwoodError(
            f"The folder {path} for the space '{space}' could not be created: {error.strerror}."
        ) from error
    if not os.path.isdir(path):
        raise SapwoodError(
            f"The folder {path} for the space '{space}' does not exist. Create it, or choose "
            f"another: --folder {space}=PATH"
        )
    return SpaceFolder(path)
