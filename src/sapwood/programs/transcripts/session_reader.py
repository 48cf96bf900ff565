"""Reads a session from a transcript: all of it, or only its last part."""

import os
from collections.abc import Callable, Collection
from pathlib import Path

from msgspec import structs

from sapwood.analysis.session import Boundary, Session
from sapwood.core.content import RecordedReply, Text, ToolCall
from sapwood.core.events import Size, TurnRecorded
from sapwood.core.ids import AgentId, TurnRef
from sapwood.core.turn import Turn, recorded_turn
from sapwood.programs.registry import program, programs_with
from sapwood.programs.transcripts.conversation_builder import TranscriptReader
from sapwood.programs.transcripts.discovery import (
    FAR,
    NotATranscript,
    detect_source,
    reader_for,
)
from sapwood.programs.transcripts.row_file import FilePosition, RowFile, require_regular_file
from sapwood.programs.transcripts.session_files import HEAD
from sapwood.programs.transcripts.transcript_events import (
    Mask,
    TranscriptCompaction,
    TranscriptEvent,
    TranscriptRewind,
    TranscriptTurn,
    imported_agent_id,
    unmasked,
)
from sapwood.redaction import mask_secrets

TAIL = 1024 * 1024
"""Bytes at the end of a transcript that usually contain the turns in view."""

_WIDER = 4
"""How much more is read if the end of a transcript is one huge row."""


def read_session(path: Path, source: str | None = None, *, mask: Mask = mask_secrets) -> Session:
    """Reads the whole conversation of a transcript. `mask` masks the secrets in tool results.

    Raises `NotATranscript` if the file cannot be read or is no transcript.
    """
    return session_of(_read(path, source, mask=mask), path)


def read_events(
    path: Path, source: str | None = None, own: Collection[str] = ()
) -> list[TranscriptEvent]:
    """Reads all turns, compactions and rewinds of a transcript, without the rows in `own`.

    Raises `NotATranscript` if the file cannot be read or is no transcript.
    """
    reader = _read(path, source, own)
    reader.finish()
    return list(reader.events)


def read_subagents(path: Path, source: str | None = None) -> list[Session]:
    """Reads the subagents of a session, from its transcript and from files beside it."""
    inside = [session_of(child, path) for child in _read(path, source).children]
    folder = path.with_suffix("") / "subagents"
    return [*inside, *(read_session(each, source) for each in sorted(folder.glob("*.jsonl")))]


def tail_session(
    path: Path,
    source: str | None = None,
    *,
    max_bytes: int = TAIL,
    is_enough: Callable[[Session], bool] | None = None,
) -> Session:
    """Reads the last part of a conversation, in a time that does not depend on its length.

    With `is_enough`, more and more is read until it returns true. `Session.first_request` is the
    first prompt, if it is near the beginning of the file.
    """
    source = source or detect_file(path)
    sessions = program(source).sessions
    try:
        size = 0 if sessions.in_database else path.stat().st_size
    except OSError as error:
        raise _unreadable(path, error) from error
    first_request, width = "", max_bytes
    while size > width and path.suffix != ".json":
        reader = reader_for(source, path)
        _feed_tail(reader, path, size - width)
        first_request = first_request or _first_request(path, source)
        session = session_of(reader, path, first_request=first_request)
        is_wide = bool(session.turns or session.boundaries) or width > max_bytes
        if is_enough(session) if is_enough else is_wide:
            return session
        width *= _WIDER
    return read_session(path, source)


def session_of(reader: TranscriptReader, path: Path, *, first_request: str = "") -> Session:
    """The session from the rows that a reader was fed so far."""
    reader.finish()
    details = reader.details
    name = details.id or path.stem
    history = _History(imported_agent_id(reader.source, name))
    for each in reader.events:
        history.take(each)
    return Session(
        source=reader.source,
        id=name,
        folder=details.folder,
        path=str(path),
        title=details.title,
        model=details.model,
        turns=tuple(history.turns),
        times=tuple(history.times),
        boundaries=tuple(history.boundaries),
        used=details.used,
        window=details.window,
        updated=details.updated,
        abandoned=tuple(sorted(history.abandoned)),
        first_request=first_request,
        parent=details.parent,
        shown_files=tuple(details.shown_files),
    )


class _History:
    """Collects events: turns with their numbers and parents, boundaries, abandoned turns.

    A turn that Sapwood wrote again, without a dropped result, is the turn that made the same calls.
    `_places` are the indexes of the turns, in the order in which they were read.
    """

    def __init__(self, agent: AgentId) -> None:
        self._agent = agent
        self._places: list[int] = []
        self._by_calls: dict[tuple[str, ...], int] = {}
        self._path: list[int] = []
        self.turns: list[Turn] = []
        self.times: list[int] = []
        self.boundaries: list[Boundary] = []
        self.abandoned: set[int] = set()

    def take(self, each: TranscriptEvent) -> None:
        match each:
            case TranscriptTurn():
                self._add(each)
            case TranscriptCompaction():
                boundary = self._placed(each.boundary)
                if named := boundary.turns or boundary.listed:
                    self._go_to(named[-1])
                self.boundaries.append(boundary)
            case TranscriptRewind():
                self._rewind(self._place(each.to))

    def _add(self, each: TranscriptTurn) -> None:
        calls = tuple(
            part.id
            for item in each.items
            if isinstance(item, RecordedReply)
            for part in item.parts
            if isinstance(part, ToolCall)
        )
        if each.is_own and calls in self._by_calls:
            self._places.append(self._by_calls[calls])
            return
        place = len(self.turns)
        if calls:
            self._by_calls[calls] = place
        self._places.append(place)
        self._path.append(place)
        self.turns.append(self._turn(each))
        self.times.append(each.first.at)

    def _place(self, turn: int) -> int:
        """The index of a turn that the reader counts so."""
        return self._places[turn] if 0 <= turn < len(self._places) else turn

    def _placed(self, boundary: Boundary) -> Boundary:
        """A boundary that counts the turns as they are counted here."""
        return structs.replace(
            boundary,
            after=boundary.after - len(self._places) + len(self.turns),
            turns=tuple(map(self._place, boundary.turns)),
            listed=tuple(sorted(map(self._place, boundary.listed))),
        )

    def _rewind(self, to: int) -> None:
        if to in self._path or to < 0:
            self.abandoned.update(place for place in self._path if place > to)
            self._path = [place for place in self._path if place <= to]
        else:
            self._go_to(to)

    def _go_to(self, turn: int) -> None:
        """Makes a turn the last one. Turns of other branches are abandoned, and those before it
        are not, also if they were before.
        """
        path: list[int] = []
        place: int | None = turn
        while place is not None and place < len(self.turns):
            path.insert(0, place)
            parent = self.turns[place].parent
            place = parent.first - 1 if parent else None
        self._path = path
        self.abandoned = set(range(len(self.turns))) - set(path)

    def _turn(self, event: TranscriptTurn) -> Turn:
        number = len(self.turns) + 1
        before = self._path[-2] + 1 if len(self._path) > 1 else 0
        parent = TurnRef(self._agent, before, before) if before else None
        status = "interrupted" if event.status == "open" else event.status
        whole = TurnRecorded(parent, event.prompt, event.items, Size(0, ""), status, event.reason)
        turn = recorded_turn(self._agent, number, whole)
        return structs.replace(turn, size=None, status=event.status, number=number)


def _read(
    path: Path, source: str | None, own: Collection[str] = (), *, mask: Mask = mask_secrets
) -> TranscriptReader:
    source = source or detect_file(path)
    reader = reader_for(source, path, mask=mask)
    reader.pass_over(tuple(own))
    try:
        if path.suffix == ".json":
            reader.feed(path.read_bytes(), 0)
            return reader
        file: str | None = None
        for name, row, offset in program(source).sessions.rows(path):
            if name != file:
                file = name
                reader.begin_file(name)
            reader.feed(row, offset)
    except OSError as error:
        raise _unreadable(path, error) from error
    return reader


def _feed_tail(reader: TranscriptReader, path: Path, offset: int) -> None:
    status = path.stat()
    rows = RowFile(path, FilePosition((status.st_dev, status.st_ino), offset)).read(rest=True)
    if offset:
        next(rows, None)  # it began in the middle
    for row, offset in rows:
        reader.feed(row, offset)


def session_id(path: Path, source: str) -> str:
    """The id by which the program knows a transcript's session."""
    if program(source).sessions.in_database:
        return path.name
    return _read_head(path, source).details.id or path.stem


def _read_head(path: Path, source: str) -> TranscriptReader:
    """Feeds the first rows to a new reader and returns it. Its tool results must not be used."""
    reader = reader_for(source, path, mask=unmasked)
    head = _head(path)
    whole = head if len(head) < HEAD else head[: head.rfind(b"\n") + 1]
    for offset, row in enumerate(whole.split(b"\n")):
        reader.feed(row, offset)
    return reader


def _first_request(path: Path, source: str) -> str:
    reader = _read_head(path, source)
    reader.finish()
    texts = (
        [part.text for part in each.prompt if isinstance(part, Text)]
        for each in reader.events
        if isinstance(each, TranscriptTurn)
    )
    return next(("\n".join(words) for words in texts if words), "")


def detect_file(path: Path) -> str:
    """The program that wrote a transcript. Raises `NotATranscript` if the file is none."""
    if owner := next((each for each in programs_with("sessions") if each.sessions.has(path)), None):
        return owner.name
    try:
        source = detect_source(_head(path)) or detect_source(_head(path, FAR))
    except OSError as error:
        raise _unreadable(path, error) from error
    if source is None:
        raise NotATranscript(path, "is not the transcript of an agent")
    return source


def _head(path: Path, size: int = HEAD) -> bytes:
    require_regular_file(path)
    with path.open("rb") as file:
        return file.read(size)


def _unreadable(path: Path, error: OSError) -> NotATranscript:
    return NotATranscript(
        path, f"cannot be read: {error.strerror or os.strerror(error.errno or 0)}"
    )
