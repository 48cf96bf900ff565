"""Transcripts of other programs: the newest of a folder, and what one says as a whole."""

from pathlib import Path

from msgspec import structs

from sapwood.app.gardening.errors import NoSession
from sapwood.app.tending.memory import Memory, last_session
from sapwood.app.tending.moment import tending_folder
from sapwood.core.session import Session
from sapwood.models import window_of
from sapwood.sources import Found, NotATranscript, current, read_session

__all__ = ["newest_in", "transcript_at"]


def newest_in(folder: Path) -> Found | None:
    """The newest session of a folder: of those where programs keep them, and the one hooks saw.

    A hook is told the place of a transcript that cannot be found, because the program that keeps
    it elsewhere does not say so to the servers that it starts.
    """
    found = [each for each in (current(folder), _seen_by_hooks(folder)) if each is not None]
    return max(found, key=lambda each: each.updated, default=None)


def _seen_by_hooks(folder: Path) -> Found | None:
    session, transcript = last_session(tending_folder(), str(folder))
    path = Path(transcript)
    try:
        status = path.stat()
    except OSError:
        return None
    if not transcript or not path.is_file():
        return None
    return Found("", session, path, str(folder), status.st_mtime_ns // 1_000, status.st_size)


def transcript_at(path: Path, source: str | None = None) -> Session:
    """The session of a transcript, with its window where that is known. Raises `NoSession`."""
    try:
        session = read_session(path.expanduser(), source)
    except NotATranscript as error:
        raise NoSession(str(error)) from error
    if session.window is None:
        return structs.replace(session, window=_window(session))
    return session


def _window(session: Session) -> int | None:
    """As the program told a hook, else what the model is known to take."""
    told = Memory(tending_folder(), session.id).number("window")
    return told or (window_of(session.model) if session.model else None)
