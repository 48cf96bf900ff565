"""Finds and reads the session that a request means: a transcript, a named or the current one.

Nothing is changed: a database that does not exist is not created.

Remembers which tool results of a long transcript have nothing to mask.

Searching all results for secrets is a large part of reading a transcript, and almost none of them
has one. A result is known by a digest of its whole text. What was found with other rules than the
present ones is not used. A file that cannot be read or written is ignored.
"""

import asyncio
import os
import re
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Protocol

from msgspec import structs

from sapwood import redaction
from sapwood.analysis.session import Session
from sapwood.config.config_file import Config
from sapwood.config.folders import clean_results_folder
from sapwood.context_actions.hook_memory import HookMemory, hook_memory_folder, last_session
from sapwood.context_actions.session_input import SessionInput, agent_input
from sapwood.conversation.call import OpenSpace
from sapwood.core.errors import LogError, SapwoodError
from sapwood.core.ids import AgentId
from sapwood.core.log_values import AgentSummary
from sapwood.core.refusals import Refusal
from sapwood.models import window_of
from sapwood.private_files import replace_file
from sapwood.programs.registry import PROGRAM_NAMES, program, programs_with
from sapwood.programs.transcripts.discovery import NotATranscript, discover, newest_session
from sapwood.programs.transcripts.session_files import FoundSession
from sapwood.programs.transcripts.session_reader import read_session
from sapwood.programs.transcripts.transcript_events import imported_agent_id
from sapwood.redaction import mask_secrets
from sapwood.store.stores import store_of
from sapwood.turns.open_agent import find_agent, open_state

_DATABASE_SECONDS = 5.0
_MAX_AGENTS = 1_000

SessionTarget = AgentId | FoundSession | Path
"""An agent of the log, a session of another program, or any transcript."""


class NoSession(SapwoodError):
    """No session was found; the message names the folder or the id that was searched."""


class SeveralSessions(NoSession):
    """Several sessions have an id that starts so."""


class Connect(Protocol):
    """Opens a space of a database. `patience` is how many seconds to wait for a server."""

    async def __call__(self, address: str, space: str, *, patience: float) -> OpenSpace: ...


def running_session(environ: Mapping[str, str]) -> str:
    """The id of the session whose program started this process, empty if there is none.

    Read it for each request: the program may have started another session since.
    """
    variables = (program(name).session_variable for name in PROGRAM_NAMES)
    return next((environ[name] for name in variables if environ.get(name)), "")


class SessionFinder:
    """Finds and reads the sessions of a folder.

    `connect` opens the database. `running` is the id of the session from which the request comes,
    if it comes from one.
    """

    def __init__(self, folder: Path, config: Config, connect: Connect, running: str = "") -> None:
        self.folder = folder.resolve()
        self._config = config
        self._connect = connect
        self._running = running

    async def find(self, session: str = "", transcript: str = "") -> SessionTarget:
        """The transcript, else the session of that name, else the folder's current session.

        A session may be named by the path of its transcript too. Raises `NoSession` if there is
        none.
        """
        if path := transcript or _file_named(session):
            return Path(path)
        return await (self._named(session) if session else self._current())

    async def read(self, target: SessionTarget) -> SessionInput:
        """Reads the whole session. Raises `NoSession` if it cannot be read."""
        if isinstance(target, FoundSession):
            session = await asyncio.to_thread(read_transcript, target.path, target.source or None)
            return SessionInput(session)
        if isinstance(target, Path):
            session = await asyncio.to_thread(read_transcript, target, kept=False)
            return SessionInput(session, kept=False)
        async with self.connected() as space:
            if space is None:
                raise NoSession(f"There is no agent '{target}': there is no database yet.")
            return await agent_input(space, target)

    async def project(self) -> str:
        """The folder of the current session; without one, the top of the repository or `folder`."""
        if running := await self._running_session():
            return running.folder or str(self.folder)
        for folder in self.folders():
            if await asyncio.to_thread(newest_session_in, folder) or await self._agents_in(folder):
                return str(folder)
        return str(self.folders()[-1])

    async def before(self, newest: Session) -> SessionInput | None:
        """The session of another program that was current in this folder before `newest`."""
        found = await asyncio.to_thread(discover, folder=self.folder)
        other = next((each for each in found if each.id != newest.id), None)
        return await self.read(other) if other else None

    @asynccontextmanager
    async def connected(self) -> AsyncGenerator[OpenSpace | None]:
        """Opens the database; yields None if it does not exist."""
        if not database_exists(self._config):
            yield None
            return
        async with open_space(self._config, self._connect) as space:
            yield space

    async def _named(self, name: str) -> SessionTarget:
        found = [e for e in await asyncio.to_thread(discover) if e.id.startswith(name)]
        if exact := [each for each in found if each.id == name]:
            found = exact
        if len(found) > 1:
            raise SeveralSessions(f"Several sessions start with '{name}'. Type more of the id.")
        if found:
            return found[0]
        agent = await self._agent_named(name)
        if agent is not None:
            return agent
        raise NoSession(
            f"Session '{name}' was not found in other programs or in the log. To list the sessions "
            "in the log, type: sapwood agents --all"
        )

    async def _agent_named(self, name: str) -> AgentId | None:
        """An agent by its id or name, or by the id of the session that it was imported from."""
        async with self.connected() as space:
            if space is None:
                return None
            agent = await find_agent(space.log, space.space, name)
            if not isinstance(agent, Refusal):
                return agent
            agents = await space.log.agents(space.space, limit=_MAX_AGENTS)
        imported = [each.agent for each in agents if each.session.startswith(name)]
        return imported[0] if len(imported) == 1 else None

    async def _running_session(self) -> FoundSession | None:
        """The session from which the request comes."""
        found = await asyncio.to_thread(discover) if self._running else []
        return next((each for each in found if each.id == self._running), None)

    async def _current(self) -> SessionTarget:
        if running := await self._running_session():
            return running
        for folder in self.folders():
            transcript = await asyncio.to_thread(newest_session_in, folder)
            agents = await self._agents_in(folder)
            # A child works for its parent, which stays the session of the folder. An imported
            # agent is at most as new as its transcript.
            roots = [each for each in agents if each.parent is None] or agents
            own = [each for each in roots if not each.source and each.parent is None]
            newest = max(own if transcript else roots, key=lambda each: each.updated, default=None)
            if newest and (transcript is None or newest.updated > transcript.updated):
                return newest.agent
            if transcript is not None:
                return transcript
        titles = ", ".join(each.title for each in programs_with("sessions"))
        raise NoSession(
            f"There is no {titles} or Sapwood session in {self.folder}. "
            "Name one with --session ID, or its transcript with --session FILE."
        )

    def folders(self) -> list[Path]:
        """The folder, and the top of the repository that contains it."""
        tops = [each for each in self.folder.parents if (each / ".git").exists()]
        return [self.folder, *tops[:1]]

    async def _agents_in(self, folder: Path) -> list[AgentSummary]:
        """The agents that worked in the folder; none if the database cannot be reached."""
        try:
            async with self.connected() as space:
                agents = await space.log.agents(space.space, limit=_MAX_AGENTS) if space else []
        except LogError:
            return []
        return [each for each in agents if each.folder and Path(each.folder) == folder]


async def agents_of_folders(space: OpenSpace, folders: Iterable[str]) -> list[AgentId]:
    """The conversations that worked in these folders, with their descendants.

    Of each folder the conversations that changed last are taken, at most 1,000.
    """
    found: dict[AgentId, None] = {}
    for folder in folders:
        for root in await space.log.conversations(space.space, folder, limit=_MAX_AGENTS):
            below = await space.log.descendants(space.space, root.agent)
            found.update(dict.fromkeys((root.agent, *below)))
    return list(found)


def database_exists(config: Config) -> bool:
    """Whether there is a database; one on a server is taken to exist."""
    return store_of(config.address).exists(config.address)


async def waiting_change_of(space: OpenSpace, session: FoundSession) -> str:
    """Says that the session does not have its last change yet; empty if it has, or is unknown."""
    from sapwood.conversation.session_changes import waiting_change

    agent = imported_agent_id(session.source, session.id)
    return waiting_change(await open_state(space.log, space.space, agent))


@asynccontextmanager
async def open_space(config: Config, connect: Connect) -> AsyncGenerator[OpenSpace]:
    """Opens the configured space, and creates the database if it does not exist."""
    space = await connect(config.address, config.space, patience=_DATABASE_SECONDS)
    try:
        yield space
    finally:
        await space.close()


def newest_session_in(folder: Path) -> FoundSession | None:
    """The newest session of a folder, of those that the programs stored and that a hook saw.

    A program may keep its transcripts in another place, which only its hooks know.
    """
    found = [each for each in (newest_session(folder), _seen_by_hooks(folder)) if each is not None]
    return max(found, key=lambda each: each.updated, default=None)


def _file_named(name: str) -> str:
    """The path of the file of that name; empty if there is none."""
    path = os.path.expanduser(name)
    return path if os.path.isfile(path) else ""


def _seen_by_hooks(folder: Path) -> FoundSession | None:
    session, transcript = last_session(hook_memory_folder(), str(folder))
    path = Path(transcript)
    try:
        status = path.stat()
    except OSError:
        return None
    if not transcript or not path.is_file():
        return None
    return FoundSession("", session, path, str(folder), status.st_mtime_ns // 1_000, status.st_size)


def read_transcript(path: Path, source: str | None = None, *, kept: bool = True) -> Session:
    """Reads a transcript. Raises `NoSession`. If it is not `kept`, nothing is stored about it.

    The window is the one that hooks and the status line show, else that of the transcript, else the
    one known for the model.
    """
    try:
        whole = path.expanduser()
        known = CleanResults(whole)
        session = read_session(whole, source, mask=known.mask)
    except NotATranscript as error:
        raise NoSession(str(error)) from error
    if kept:
        known.save()
    return structs.replace(session, window=_window(session))


def _window(session: Session) -> int | None:
    memory = HookMemory(hook_memory_folder(), session.id)
    known = memory.number("limit") or session.window or memory.number("window")
    return known or assumed_window(session)


def assumed_window(session: Session) -> int | None:
    """The window of a session whose program has not reported one; None if it is unknown.

    It is that of its model, or the part of it that the program uses, if the session fits in there
    and did so before each of its compactions. The name of the model does not say it.
    """
    of_model = window_of(session.model) if session.model else None
    usual = _usual_window(session)
    sizes = (session.used, *(each.before_tokens for each in session.boundaries))
    if of_model and usual and max(size or 0 for size in sizes) <= usual:
        return min(of_model, usual)
    return of_model


def _usual_window(session: Session) -> int:
    """What the program uses of the model's window unless its user asks for more; 0 for all."""
    known = program(session.source)
    limited = known.usual_window_models
    return known.usual_window if limited and re.search(limited, session.model or "") else 0


_SMALLEST = 2_000_000
"""Bytes of a transcript below which nothing is remembered: masking is fast enough."""
_SHORT = 32
"""Characters of a result up to which masking is as fast as a look-up."""
_SIZE = 16
_MAX_RESULTS = 200_000
_MAX_TRANSCRIPTS = 16


class CleanResults:
    """The results of one transcript in which no secret was found. `mask` masks a result."""

    def __init__(self, transcript: Path) -> None:
        name = blake2b(os.fsencode(transcript), digest_size=_SIZE).hexdigest()
        self._file = clean_results_folder() / name
        self._is_used = _is_large(transcript)
        self._known = self._read() if self._is_used else frozenset[bytes]()
        self._found: set[bytes] = set()

    def mask(self, text: str) -> str:
        """The text with its secrets masked."""
        if not self._is_used or len(text) <= _SHORT:
            return mask_secrets(text)
        key = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_SIZE).digest()
        if key in self._known:
            self._found.add(key)
            return text
        masked = mask_secrets(text)
        if masked == text and len(self._found) < _MAX_RESULTS:
            self._found.add(key)
        return masked

    def save(self) -> None:
        """Remembers the results that were masked, if some of them are new."""
        if not self._is_used or self._found <= self._known:
            return
        with suppress(OSError):
            replace_file(self._file, _rules() + b"".join(sorted(self._found)))
            _remove_oldest(self._file.parent)

    def _read(self) -> frozenset[bytes]:
        try:
            content = self._file.read_bytes()
        except OSError:
            return frozenset()
        if not content.startswith(_rules()):
            return frozenset()
        places = range(_SIZE, len(content) - _SIZE + 1, _SIZE)
        return frozenset([content[place : place + _SIZE] for place in places])


@cache
def _rules() -> bytes:
    """A digest of the rules that find secrets: it changes when one of their files does."""
    digest = blake2b(digest_size=_SIZE)
    for folder in redaction.__path__:
        for file in sorted(Path(folder).glob("*.py")):
            status = file.stat()
            digest.update(f"{file.name} {status.st_size} {status.st_mtime_ns}\n".encode())
    return digest.digest()


def _is_large(transcript: Path) -> bool:
    try:
        return transcript.stat().st_size >= _SMALLEST
    except OSError:
        return False


def _remove_oldest(folder: Path) -> None:
    files = sorted(folder.iterdir(), key=lambda file: file.stat().st_mtime, reverse=True)
    for file in files[_MAX_TRANSCRIPTS:]:
        file.unlink(missing_ok=True)
