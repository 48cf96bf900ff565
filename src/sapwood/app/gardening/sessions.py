"""Which session is meant: a transcript, one that was named, or the current one of a folder.

Looks and changes nothing: a database that is not there is not made.
"""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from sapwood.app.config import Config
from sapwood.app.connection import Connection, connect
from sapwood.app.gardening.errors import NoSession
from sapwood.app.gardening.own import subject_of
from sapwood.app.gardening.subject import Subject
from sapwood.app.gardening.transcripts import newest_in, transcript_at
from sapwood.app.opening import is_postgres
from sapwood.core.errors import LogError
from sapwood.core.ids import AgentId
from sapwood.core.log import Facts
from sapwood.core.refusals import Refusal
from sapwood.core.session import Session
from sapwood.runtime.finding import find_agent
from sapwood.sources import Found, discover

__all__ = ["Meant", "Sessions", "running_session"]

_RUNNING = ("CLAUDE_CODE_SESSION_ID", "CODEX_THREAD_ID")
_PATIENCE = 5.0
_AGENTS = 1_000

Meant = AgentId | Found | Path
"""An agent in the database, a session of another program, or any transcript."""


def running_session(environ: Mapping[str, str]) -> str:
    """The session whose program started this process. For a moment only: it may begin another."""
    return next((environ[name] for name in _RUNNING if environ.get(name)), "")


class Sessions:
    """Finds and reads the sessions that can be seen from a folder.

    `running` is the id of the session from within which somebody asks, if there is one.
    """

    def __init__(self, folder: Path, config: Config, running: str = "") -> None:
        self.folder = folder.resolve()
        self._config = config
        self._running = running

    async def find(self, session: str = "", transcript: str = "") -> Meant:
        """The transcript, else the session of that name, else the current one of the folder."""
        if transcript:
            return Path(transcript)
        return await (self._named(session) if session else self._current())

    async def read(self, meant: Meant) -> Subject:
        """All of it."""
        if isinstance(meant, Found):
            return Subject(await asyncio.to_thread(transcript_at, meant.path, meant.source or None))
        if isinstance(meant, Path):
            return Subject(await asyncio.to_thread(transcript_at, meant), kept=False)
        async with self.connected() as held:
            if held is None:
                raise NoSession(f"There is no agent '{meant}': there is no database yet.")
            return await subject_of(held, meant)

    async def project(self) -> str:
        """The folder of the current session; without one, the top of the repository or this one."""
        if asking := await self._asking():
            return asking.folder or str(self.folder)
        for folder in self._folders():
            if await asyncio.to_thread(newest_in, folder) or await self._agents_in(folder):
                return str(folder)
        return str(self._folders()[-1])

    async def before(self, newest: Session) -> Subject | None:
        """The session of another program that was current in this folder before this one."""
        found = await asyncio.to_thread(discover, folder=self.folder)
        other = next((each for each in found if each.id != newest.id), None)
        return await self.read(other) if other else None

    @asynccontextmanager
    async def connected(self) -> AsyncGenerator[Connection | None]:
        """The database, if there is one."""
        if not _is_there(self._config.address):
            yield None
            return
        connection = await connect(self._config.address, self._config.space, patience=_PATIENCE)
        try:
            yield connection
        finally:
            await connection.close()

    async def _named(self, name: str) -> Meant:
        found = [e for e in await asyncio.to_thread(discover) if e.id.startswith(name)]
        if exact := [each for each in found if each.id == name]:
            found = exact
        if len(found) > 1:
            raise NoSession(f"Several sessions begin with '{name}'. Give more of the id.")
        if found:
            return found[0]
        agent = await self._agent_named(name)
        if agent is not None:
            return agent
        raise NoSession(
            f"There is no session '{name}', of no program and in no log. sapwood agents --all "
            "lists those that Sapwood keeps; --transcript FILE takes any transcript."
        )

    async def _agent_named(self, name: str) -> AgentId | None:
        """An agent by its id or name, or by the id of the session that it was imported from."""
        async with self.connected() as held:
            if held is None:
                return None
            agent = await find_agent(held.log, held.space, name)
            if not isinstance(agent, Refusal):
                return agent
            agents = await held.log.agents(held.space, limit=_AGENTS)
        imported = [facts.agent for facts in agents if facts.session.startswith(name)]
        return imported[0] if len(imported) == 1 else None

    async def _asking(self) -> Found | None:
        """The session from within which somebody asks."""
        found = await asyncio.to_thread(discover) if self._running else []
        return next((each for each in found if each.id == self._running), None)

    async def _current(self) -> Meant:
        if asking := await self._asking():
            return asking
        for folder in self._folders():
            elsewhere = await asyncio.to_thread(newest_in, folder)
            agents = await self._agents_in(folder)
            own = [facts for facts in agents if not facts.source]
            newest = max(own if elsewhere else agents, key=lambda each: each.updated, default=None)
            if newest and (elsewhere is None or newest.updated > elsewhere.updated):
                return newest.agent
            if elsewhere is not None:
                return elsewhere
        raise NoSession(
            f"There is no session of Claude Code, Codex, Gemini CLI or Sapwood in {self.folder}. "
            "Name one by --session ID, or give --transcript FILE."
        )

    def _folders(self) -> list[Path]:
        """The folder, and the top of the repository that it lies in."""
        tops = [each for each in self.folder.parents if (each / ".git").exists()]
        return [self.folder, *tops[:1]]

    async def _agents_in(self, folder: Path) -> list[Facts]:
        """Agents that worked in the folder. A database out of reach has none.

        Imported ones are among them; while its transcript is there, that is the newer truth.
        """
        try:
            async with self.connected() as held:
                agents = await held.log.agents(held.space, limit=_AGENTS) if held else []
        except LogError:
            return []
        return [facts for facts in agents if facts.folder and Path(facts.folder) == folder]


def _is_there(address: str) -> bool:
    return is_postgres(address) or Path(address).expanduser().is_file()
