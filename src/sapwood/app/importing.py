"""Brings conversations of other programs into the log, as ordinary agents.

What was imported before is known from the log alone: each agent's newest turn tells the row it ends
with, and every command has an id that follows from its row. So importing again, from the same place
or from the beginning, by one process or by several at once, adds only what is new.
"""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec import Struct

from sapwood.app.connection import Connection
from sapwood.app.recording import Lane
from sapwood.core.ids import AgentId
from sapwood.core.origin import Passage
from sapwood.runtime.dispatch import Dispatcher
from sapwood.runtime.opening import open_state
from sapwood.sources.detecting import reader_for
from sapwood.sources.errors import NotATranscript
from sapwood.sources.following import Place, Rows
from sapwood.sources.happenings import Compacted
from sapwood.sources.naming import agent_of
from sapwood.sources.reading import About, Reader
from sapwood.sources.resuming import resume_of
from sapwood.sources.sessions import detected, session_id
from sapwood.tokens.chars4 import Chars4Counter

__all__ = ["IDLE_SECONDS", "Imported", "Importer"]

IDLE_SECONDS = 3600.0
"""A transcript that nobody wrote to for so long is taken to have ended with its last row."""

_PIECE = 4 * 1024 * 1024

Tell = Callable[[int], None]
"""Is told how many more bytes were read."""


class Imported(Struct, frozen=True, omit_defaults=True):
    """What became of one transcript: the agent, and what was new. `problem` says what was not.

    `resume` is the command that goes on with it where it ran.
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

    Turns are counted by their characters here, which costs nothing: whoever looks at an agent
    counts the few turns in view anew.
    """

    def __init__(
        self,
        connection: Connection,
        *,
        idle_seconds: float = IDLE_SECONDS,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._log = connection.log
        self._space = connection.space
        self._idle_seconds = idle_seconds
        self._now = now
        counter = Chars4Counter()
        # Without a mask: the readers of transcripts have masked every row already.
        self._dispatcher = Dispatcher(self._log, self._space, lambda _: counter)

    async def bring(
        self, path: Path, source: str | None = None, tell: Tell = lambda _: None
    ) -> Imported:
        """Imports what is new in a transcript. Raises `NotATranscript` for another file."""
        source = source or detected(path)
        session = session_id(path, source)
        agent = agent_of(source, session)
        try:
            state = await open_state(self._log, self._space, agent)
            upto = None if _is_one_object(path) else state.upto
            known = About(id=session, model=state.settings.model)
            walk = _Walk(self, path, reader_for(source, path, known), upto, whole=upto is None)
            if not await walk.run(tell):
                reader = reader_for(source, path, About(id=session))
                walk = _Walk(self, path, reader, upto, whole=True, moved=not walk.found)
                await walk.run(lambda _: None)
        except OSError as error:
            raise NotATranscript(path, f"cannot be read: {error.strerror}") from error
        lanes = list(walk.lanes.values())
        return Imported(
            source,
            session,
            str(path),
            agent,
            turns=sum(lane.turns for lane in lanes),
            compactions=sum(lane.compactions for lane in lanes),
            subagents=len(lanes) - 1,
            problem=next((lane.problem for lane in lanes if lane.problem), ""),
            resume=resume_of(source, walk.resumable),
        )

    def lane(self, reader: Reader, path: Path) -> Lane:
        """A lane for the commands of one conversation."""
        return Lane(self._dispatcher, self._log, self._space, reader, path)

    def is_idle(self, path: Path) -> bool:
        """Whether nobody has written to the file for long."""
        return self._now() - path.stat().st_mtime > self._idle_seconds

    async def close(self) -> None:
        """Finishes what is under way."""
        await self._dispatcher.close()


class _Walk:
    """One way through a transcript: from where its agent stands, or the `whole`.

    `found` says that the last known row was met. One that has `moved` is met wherever it is now.
    """

    def __init__(
        self,
        importer: Importer,
        path: Path,
        reader: Reader,
        upto: Passage | None,
        *,
        whole: bool,
        moved: bool = False,
    ) -> None:
        self._importer = importer
        self._path = path
        self._reader = reader
        self._upto = upto
        self._whole = whole
        self._moved = moved
        self.found = False
        self.lanes = {"": importer.lane(self._reader, path)}

    @property
    def resumable(self) -> str:
        """The session that a person can resume: a subagent's is that of its parent."""
        return self._reader.about.parent or self._reader.about.id

    async def run(self, tell: Tell) -> bool:
        """Imports what is new; False if it has to be read from the beginning to understand it."""
        idle, known, unread = self._importer.is_idle(self._path), self._upto, 0
        for row, place in self._rows(rest=idle):
            self._reader.feed(row, place)
            if known and self._is_known(row, place, known):
                self.lanes[""].pass_over(None if self._whole else known)
                known, self.found = None, True
            elif not self._whole and (known or self._needs_more()):
                return False
            unread += len(row)
            if unread >= _PIECE:
                tell(unread)
                unread = 0
                if known is None:
                    await self._take()
        tell(unread)
        await self._take()
        for lane in self.lanes.values():
            await lane.finish(idle=idle)
        return True

    def _is_known(self, row: bytes, place: int, known: Passage) -> bool:
        """Whether this is the last row that the log knows. Rows may be written again, so that its
        name alone is not enough."""
        is_there = self._moved or place == known.place
        return is_there and self._reader.is_named(row, place, known.last)

    def _needs_more(self) -> bool:
        """Whether a row can only be understood with what came before the part that is read."""
        new = [each for each in self._reader.happened[-2:] if isinstance(each, Compacted)]
        return (
            self._reader.lost
            or bool(self._reader.children)
            or any(each.boundary.kept or each.boundary.quoted for each in new)
        )

    def _rows(self, *, rest: bool) -> Iterator[tuple[bytes, int]]:
        if _is_one_object(self._path):
            return iter([(self._path.read_bytes(), 0)])
        status = self._path.stat()
        offset = 0 if self._whole or self._upto is None else self._upto.place
        return Rows(self._path, Place((status.st_dev, status.st_ino), offset)).read(rest=rest)

    async def _take(self) -> None:
        for child in self._reader.children:
            if child.about.id not in self.lanes:
                self.lanes[child.about.id] = self._importer.lane(child, self._path)
        for lane in self.lanes.values():
            await lane.take()


def _is_one_object(path: Path) -> bool:
    """Whether a transcript is not made of rows, but written anew each time."""
    return path.suffix == ".json"
