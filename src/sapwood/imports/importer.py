"""Imports conversations of other programs into the log, as ordinary agents.

The log alone knows what was imported before: each agent's newest turn names the row it ends with,
and the id of every command is computed from its row. So a second import adds only what is new, even
if it starts from the beginning or if several processes import at once.

Selects the transcripts to import: all that are found, those of a folder, or given files.
"""

import asyncio
import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from sapwood.core.ids import AgentId, Space, TranscriptRange
from sapwood.imports.conversation_writer import ConversationWriter
from sapwood.imports.pending_commands import (
    PendingSession,
    forget_commands,
    pending_file,
    pending_sessions,
    read_commands,
)
from sapwood.imports.session_catch_up import own_rows
from sapwood.imports.session_lock import session_lock
from sapwood.journal import add_to_journal
from sapwood.private_files import release_lock, wait_for_lock
from sapwood.programs.registry import program, resume_command_for
from sapwood.programs.transcripts.conversation_builder import TranscriptReader
from sapwood.programs.transcripts.discovery import (
    NotATranscript,
    ProgramHomes,
    discover,
    program_homes,
    reader_for,
    subagents_of,
)
from sapwood.programs.transcripts.row_file import FilePosition, RowFile
from sapwood.programs.transcripts.session_files import FoundSession
from sapwood.programs.transcripts.session_reader import detect_file, session_id
from sapwood.programs.transcripts.transcript_events import (
    SessionDetails,
    TranscriptCompaction,
    imported_agent_id,
    unmasked,
)
from sapwood.tokens.estimators import Chars4Counter
from sapwood.turns.dispatch import Dispatcher
from sapwood.turns.log import Log
from sapwood.turns.open_agent import open_state

IDLE_SECONDS = 3600.0
"""A transcript that has not changed for this long is taken to have ended with its last row."""

_PIECE = 4 * 1024 * 1024

OnProgress = Callable[[int], None]
"""Called with the number of bytes that were read since the last call."""


class OpenLog(Protocol):
    """An open log and the space to import into."""

    @property
    def log(self) -> Log: ...

    @property
    def space(self) -> Space: ...

    @property
    def address(self) -> str: ...

    def masked(self, text: str) -> str:
        """The text with its secrets masked, also the configured keys."""
        ...


class ImportResult(Struct, frozen=True, omit_defaults=True):
    """The result of importing one transcript: its agent, and how much was new.

    `problem` is empty, or says why the import stopped. `resume` is the command that resumes the
    session in its own program.
    """

    source: str
    session: str
    path: str
    agent: AgentId
    turns: int = 0
    compactions: int = 0
    subagents: int = 0
    problem: str = ""
    resume: str = ""


class Importer:
    """Imports transcripts into one space.

    Tokens are estimated from characters, which is fast. When an agent is opened, the few turns in
    view are counted again with the model's own counter. With a `dispatcher` of the space, which
    counts so at once, the agent stays open in it: the session is about to be changed.
    """

    def __init__(
        self,
        connection: OpenLog,
        *,
        idle_seconds: float = IDLE_SECONDS,
        now: Callable[[], float] = time.time,
        dispatcher: Dispatcher | None = None,
    ) -> None:
        self._log = connection.log
        self._space = connection.space
        self._address = connection.address
        self._idle_seconds = idle_seconds
        self._now = now
        by_length = Chars4Counter()
        self._dispatcher = dispatcher or Dispatcher(
            self._log, self._space, lambda _: by_length, mask=connection.masked
        )

    async def bring(
        self, path: Path, source: str | None = None, on_progress: OnProgress = lambda _: None
    ) -> ImportResult:
        """Imports what is new in a transcript.

        Raises `NotATranscript` if the file is none or cannot be read.
        """
        source = source or detect_file(path)
        try:
            session = session_id(path, source)
            agent = imported_agent_id(source, session)
            async with session_lock(self._address, self._space, agent):
                await self._give_pending(path, source, session, agent)
                walk = await self._read_new(path, source, session, agent, on_progress)
        except OSError as error:
            raise NotATranscript(path, f"cannot be read: {error.strerror}") from error
        writers = list(walk.writers.values())
        return ImportResult(
            source,
            session,
            str(path),
            agent,
            turns=sum(writer.turns for writer in writers),
            compactions=sum(writer.compactions for writer in writers),
            subagents=len(writers) - 1,
            problem=next((each.problem for each in writers if each.problem), ""),
            resume=resume_command_for(source, walk.resumable),
        )

    async def _read_new(
        self, path: Path, source: str, session: str, agent: AgentId, on_progress: OnProgress
    ) -> "_Walk":
        """Reads what is new in a transcript into the log. Returns the walk that did it."""
        state = await open_state(self._log, self._space, agent)
        in_database = program(source).sessions.in_database
        imported_until = None if _is_one_object(path) else state.imported_until
        known = SessionDetails(id=session, model=state.settings.model)
        own = await own_rows(self._log, self._space, agent) if imported_until else ()
        # The dispatcher masks every text before it is stored, so the reader masks none.
        reader = reader_for(source, path, known, mask=unmasked)
        reader.pass_over(own)
        walk = _Walk(self, path, reader, imported_until, whole=imported_until is None)
        if (imported_until and in_database) or not await walk.run(on_progress):
            reader = reader_for(source, path, SessionDetails(id=session), mask=unmasked)
            walk = _Walk(self, path, reader, imported_until, whole=True, moved=not walk.found)
            walk.writers[""].pass_over(own)
            await walk.run(lambda _: None)
        return walk

    async def _give_pending(self, path: Path, source: str, session: str, agent: AgentId) -> None:
        """Gives the commands that were carried out before the session was imported, if any.

        What the session had before them is imported first. One process at a time does it.
        """
        file = pending_file(self._address, self._space, agent)
        if not file.exists():
            return
        lock = await asyncio.to_thread(wait_for_lock, file)
        try:
            waiting = read_commands(file)  # another process may have removed it
            if waiting is not None:
                until = (await open_state(self._log, self._space, agent)).imported_until
                if until is None or until.place < waiting.size:
                    reader = reader_for(source, path, SessionDetails(id=session), mask=unmasked)
                    walk = _Walk(self, path, reader, until, whole=True, size=waiting.size)
                    await walk.run(lambda _: None)
                await self._give(waiting, agent)
            forget_commands(file)
        finally:
            release_lock(lock)

    async def _give(self, waiting: PendingSession, agent: AgentId) -> None:
        """Gives the commands, or those that a process that was killed had not given yet.

        If the log has become another one, the import finds the change in the session's own rows.
        """
        commands = waiting.commands
        known = [await self._log.receipt(self._space, meta.id) for _, meta in commands]
        version = (await open_state(self._log, self._space, agent)).version
        if not any(known) and version != waiting.version:
            message = "Another import finished first. A mark set in the meantime is not in the log."
            add_to_journal("failed", message, source=waiting.source, path=waiting.path)
            return
        for command, meta in commands:
            await self._dispatcher.dispatch(command, meta)

    def writer(self, reader: TranscriptReader, path: Path) -> ConversationWriter:
        """Makes the writer of one conversation."""
        return ConversationWriter(self._dispatcher, self._log, self._space, reader, path)

    def is_idle(self, path: Path, source: str) -> bool:
        """Whether the session has not changed for `idle_seconds`."""
        updated = program(source).sessions.updated(path) / 1_000_000
        return self._now() - updated > self._idle_seconds

    async def close(self) -> None:
        """Waits for commands that are still running."""
        await self._dispatcher.close()


async def import_pending(connection: OpenLog, dispatcher: Dispatcher) -> None:
    """Imports the sessions whose first commands were carried out before they were imported."""
    for file, waiting in pending_sessions(connection.address, connection.space):
        importer = Importer(connection, dispatcher=dispatcher)
        try:
            await importer.bring(Path(waiting.path), waiting.source)
        except NotATranscript:
            if not await asyncio.to_thread(os.path.exists, waiting.path):
                forget_commands(file)  # its program has deleted it; there is a private copy
        finally:
            await importer.close()


class _Walk:
    """Reads a transcript once: from the last imported row on, or the `whole` file.

    `found` is true once the last imported row was read. With `moved`, that row may be anywhere
    in the file; otherwise only where it was before. With `size`, only that many bytes are read, and
    the last turn in them has ended.
    """

    def __init__(
        self,
        importer: Importer,
        path: Path,
        reader: TranscriptReader,
        imported_until: TranscriptRange | None,
        *,
        whole: bool,
        moved: bool = False,
        size: int | None = None,
    ) -> None:
        self._importer = importer
        self._path = path
        self._reader = reader
        self._imported_until = imported_until
        self._whole = whole
        self._moved = moved
        self._size = size
        self.found = False
        self.writers = {"": importer.writer(self._reader, path)}

    @property
    def resumable(self) -> str:
        """The id of the session that a person can resume: for a subagent, that of its parent."""
        return self._reader.details.parent or self._reader.details.id

    async def run(self, on_progress: OnProgress) -> bool:
        """Imports what is new. Returns False if the file has to be read from its beginning."""
        idle, known, unread = self._is_idle(), self._imported_until, 0
        for row, offset in self._rows(rest=idle):
            self._reader.feed(row, offset)
            if known and self._is_known(row, offset, known):
                self.writers[""].skip_known(None if self._whole else known)
                known, self.found = None, True
            elif not self._whole and (known or self._needs_more()):
                return False
            unread += len(row)
            if unread >= _PIECE:
                on_progress(unread)
                unread = 0
                if known is None:
                    await self._take()
        on_progress(unread)
        if known and self._whole:
            await self.writers[""].skip_recorded()
        await self._take()
        for writer in self.writers.values():
            await writer.finish(idle=idle)
        return True

    def _is_idle(self) -> bool:
        return self._size is not None or self._importer.is_idle(self._path, self._reader.source)

    def _is_known(self, row: bytes, offset: int, known: TranscriptRange) -> bool:
        """Whether this is the last imported row. A program may write a row twice, so its key alone
        does not identify it."""
        is_there = self._moved or offset == known.place
        return is_there and self._reader.has_key(row, offset, known.last)

    def _needs_more(self) -> bool:
        """Whether a row refers to rows before the part that is read."""
        new = [each for each in self._reader.events[-2:] if isinstance(each, TranscriptCompaction)]
        return (
            self._reader.needs_earlier_rows
            or bool(self._reader.children)
            or any(each.boundary.kept or each.boundary.quoted for each in new)
        )

    def _rows(self, *, rest: bool) -> Iterator[tuple[bytes, int]]:
        if _is_one_object(self._path):
            yield self._path.read_bytes(), 0
            return
        sessions = program(self._reader.source).sessions
        if sessions.in_database:
            yield from ((row, offset) for _, row, offset in sessions.rows(self._path))
            return
        files = sessions.parts_of(self._path)
        offset = 0
        if not self._whole and self._imported_until is not None:
            offset = self._imported_until.place
            names = [name for name, _ in files]
            at = self._imported_until.last.partition("@")[0]
            files = files[names.index(at) if at in names else 0 :]
        for name, file in files:
            self._reader.begin_file(name)
            status = file.stat()
            position = FilePosition((status.st_dev, status.st_ino), offset)
            for row, start in RowFile(file, position).read(rest=rest):
                if self._size is not None and start >= self._size:
                    return
                yield row, start
            offset = 0

    async def _take(self) -> None:
        for child in self._reader.children:
            if child.details.id not in self.writers:
                self.writers[child.details.id] = self._importer.writer(child, self._path)
        for writer in self.writers.values():
            await writer.take()


def _is_one_object(path: Path) -> bool:
    """Whether the transcript is one JSON object that the program rewrites each time."""
    return path.suffix == ".json"


def session_folders() -> tuple[Path, ...]:
    """The folders in which the programs of this user keep their sessions."""
    return tuple(program_homes().values())


def select_transcripts(
    paths: Iterable[Path],
    homes: ProgramHomes | None = None,
    sources: frozenset[str] = frozenset(),
    since: int = 0,
) -> list[FoundSession]:
    """Returns the transcripts, the newest first, each followed by those of its subagents.

    A path is a transcript or a folder. A folder selects the sessions that ran in it; if there are
    none, the transcripts that it contains. Without a path, every session is selected. `sources`
    and `since` (in microseconds) limit the selection; `homes` are the folders of the programs, by
    default those of this user. Raises `NotATranscript` for other paths.
    """
    homes = homes or program_homes()
    wanted = [found for path in paths for found in _at(path, homes)] or None
    found = discover(homes) if wanted is None else wanted
    chosen = [
        each for each in found if (not sources or each.source in sources) and each.updated >= since
    ]
    return list(_with_subagents(chosen))


def _with_subagents(sessions: Iterable[FoundSession]) -> Iterator[FoundSession]:
    """Each session and its subagents, then subagents that older versions stored beside sessions."""
    folders: dict[tuple[str, Path], None] = {}
    for session in sessions:
        yield session
        yield from subagents_of(session)
        folders[session.source, session.path.parent] = None
    for source, folder in folders:
        for path in sorted(program(source).sessions.subagents_in(folder)):
            with suppress(NotATranscript):
                yield _named(path)


def _at(path: Path, homes: ProgramHomes) -> Iterator[FoundSession]:
    if not path.is_dir():
        yield _named(path)
        return
    found = discover(homes, path.absolute())
    if not found:
        found = list(_inside(path))
    if not found:
        raise NotATranscript(path, "contains no transcript, and no session ran there")
    yield from found


def _inside(folder: Path) -> Iterator[FoundSession]:
    for path in sorted(folder.rglob("*.jsonl")):
        with suppress(NotATranscript):
            yield _named(path)


def _named(path: Path) -> FoundSession:
    path = path.absolute()
    source = detect_file(path)
    sessions = program(source).sessions
    return FoundSession(
        source, session_id(path, source), path, "", sessions.updated(path), sessions.size(path)
    )
