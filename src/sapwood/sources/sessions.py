"""From a transcript to a session: all of it, or only its last part."""

import os
from pathlib import Path

from msgspec import structs

from sapwood.core.content import Text
from sapwood.core.events import Size, TurnRecorded
from sapwood.core.ids import AgentId, TurnRef
from sapwood.core.session import Boundary, Session
from sapwood.core.turn import Turn, recorded_turn
from sapwood.sources.detecting import FAR, HEAD, reader_for, source_of
from sapwood.sources.errors import NotATranscript
from sapwood.sources.following import Place, Rows
from sapwood.sources.happenings import Compacted, Happening, Rewound, Told
from sapwood.sources.naming import agent_of
from sapwood.sources.reading import Reader

__all__ = [
    "TAIL",
    "detected",
    "read_session",
    "read_subagents",
    "session_id",
    "session_of",
    "tail_session",
]

TAIL = 1024 * 1024
"""Bytes at the end of a transcript that say enough of the present."""

_WIDER = 4
"""How many times as much is read when the end of a transcript is one huge row."""


def read_session(path: Path, source: str | None = None) -> Session:
    """The conversation of a transcript, whole.

    Raises `NotATranscript` for a file that cannot be read or is none.
    """
    return session_of(_read(path, source), path)


def read_subagents(path: Path, source: str | None = None) -> list[Session]:
    """The conversations of the subagents of a session, wherever their rows are."""
    inside = [session_of(child, path) for child in _read(path, source).children]
    folder = path.with_suffix("") / "subagents"
    return [*inside, *(read_session(each, source) for each in sorted(folder.glob("*.jsonl")))]


def tail_session(path: Path, source: str | None = None, *, max_bytes: int = TAIL) -> Session:
    """The last part of a conversation, in a time that does not depend on its length.

    What was asked for first is told in `asked`, where it stands near the beginning of the file.
    """
    try:
        size = path.stat().st_size
    except OSError as error:
        raise _unreadable(path, error) from error
    if size <= max_bytes or path.suffix == ".json":
        return read_session(path, source)
    source = source or detected(path)
    reader = reader_for(source, path)
    for width in (max_bytes, _WIDER * max_bytes):
        reader = reader_for(source, path)
        _feed_tail(reader, path, max(0, size - width))
        if reader.happened:
            break
    return session_of(reader, path, asked=_first_request(path, source))


def session_of(reader: Reader, path: Path, *, asked: str = "") -> Session:
    """The session that a reader has read so far."""
    reader.finish()
    about = reader.about
    name = about.id or path.stem
    story = _Story(agent_of(reader.source, name))
    for each in reader.happened:
        story.take(each)
    return Session(
        source=reader.source,
        id=name,
        folder=about.folder,
        path=str(path),
        title=about.title,
        model=about.model,
        turns=tuple(story.turns),
        times=tuple(story.times),
        boundaries=tuple(story.boundaries),
        used=about.used,
        window=about.window,
        updated=about.updated,
        left=tuple(sorted(story.left)),
        asked=asked,
        parent=about.parent,
    )


class _Story:
    """Steps put together: turns with their numbers and parents, boundaries, branches left."""

    def __init__(self, agent: AgentId) -> None:
        self._agent = agent
        self._path: list[int] = []
        self.turns: list[Turn] = []
        self.times: list[int] = []
        self.boundaries: list[Boundary] = []
        self.left: set[int] = set()

    def take(self, each: Happening) -> None:
        match each:
            case Told():
                self._path.append(len(self.turns))
                self.turns.append(self._turn(each))
                self.times.append(each.first.at)
            case Compacted():
                self.boundaries.append(each.boundary)
            case Rewound():
                self.left.update(place for place in self._path if place > each.to)
                self._path = [place for place in self._path if place <= each.to]

    def _turn(self, told: Told) -> Turn:
        number = len(self.turns) + 1
        before = self._path[-2] + 1 if len(self._path) > 1 else 0
        parent = TurnRef(self._agent, before, before) if before else None
        status = "interrupted" if told.status == "open" else told.status
        whole = TurnRecorded(parent, told.prompt, told.items, Size(0, ""), status, told.reason)
        turn = recorded_turn(self._agent, number, whole)
        return structs.replace(turn, size=None, status=told.status)


def _read(path: Path, source: str | None) -> Reader:
    reader = reader_for(source or detected(path), path)
    try:
        if path.suffix == ".json":
            reader.feed(path.read_bytes(), 0)
            return reader
        for row, place in Rows(path).read(rest=True):
            reader.feed(row, place)
    except OSError as error:
        raise _unreadable(path, error) from error
    return reader


def _feed_tail(reader: Reader, path: Path, offset: int) -> None:
    status = path.stat()
    rows = Rows(path, Place((status.st_dev, status.st_ino), offset)).read(rest=True)
    if offset:
        next(rows, None)  # begins in the middle
    for row, place in rows:
        reader.feed(row, place)


def session_id(path: Path, source: str) -> str:
    """The id that the program knows the session of a transcript by."""
    return _read_head(path, source).about.id or path.stem


def _read_head(path: Path, source: str) -> Reader:
    """A reader of the first rows."""
    reader = reader_for(source, path)
    head = _head(path)
    whole = head if len(head) < HEAD else head[: head.rfind(b"\n") + 1]
    for place, row in enumerate(whole.split(b"\n")):
        reader.feed(row, place)
    return reader


def _first_request(path: Path, source: str) -> str:
    reader = _read_head(path, source)
    reader.finish()
    texts = (
        [part.text for part in each.prompt if isinstance(part, Text)]
        for each in reader.happened
        if isinstance(each, Told)
    )
    return next(("\n".join(words) for words in texts if words), "")


def detected(path: Path) -> str:
    """The program whose transcript this is. Raises `NotATranscript` if it is none."""
    try:
        source = source_of(_head(path)) or source_of(_head(path, FAR))
    except OSError as error:
        raise _unreadable(path, error) from error
    if source is None:
        raise NotATranscript(path, "is not the transcript of an agent")
    return source


def _head(path: Path, size: int = HEAD) -> bytes:
    with path.open("rb") as file:
        return file.read(size)


def _unreadable(path: Path, error: OSError) -> NotATranscript:
    return NotATranscript(path, f"cannot be read: {os.strerror(error.errno or 0)}")
