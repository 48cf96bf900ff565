"""Finds the sessions of other programs by file name, time and first rows, and makes readers."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import structs

from sapwood.core.errors import SapwoodError
from sapwood.core.program_session import ProgramSession
from sapwood.programs.registry import program, programs_with
from sapwood.programs.transcripts.conversation_builder import TranscriptReader
from sapwood.programs.transcripts.session_files import HEAD, FoundSession, SessionFiles
from sapwood.programs.transcripts.transcript_events import Mask, SessionDetails
from sapwood.redaction import mask_secrets

ProgramHomes = Mapping[str, Path]
"""The folder of each program by the program's name."""


def program_homes(environ: Mapping[str, str] = os.environ) -> ProgramHomes:
    """The folders in which the programs keep their sessions."""
    return {each.name: each.home(environ) for each in programs_with("sessions")}


def discover(homes: ProgramHomes | None = None, folder: Path | None = None) -> list[FoundSession]:
    """All sessions, or those that ran in a folder, the newest first. Subagents are left out."""
    return list(_newest_first(homes or program_homes(), folder))


def newest_session(folder: Path, homes: ProgramHomes | None = None) -> FoundSession | None:
    """The newest session that ran in a folder; None if there is none."""
    return next(_newest_first(homes or program_homes(), folder), None)


def subagents_of(found: FoundSession) -> list[FoundSession]:
    """The transcripts of a session's subagents, which lie beside its own."""
    sessions = program(found.source).sessions
    listed = sorted(sessions.listed(sessions.subagents(found)), key=lambda each: str(each.path))
    return [structs.replace(each, folder=found.folder) for each in listed]


def _newest_first(homes: ProgramHomes, folder: Path | None) -> Iterator[FoundSession]:
    """Opens each file only when it is needed, so finding the newest session is fast."""
    listed = [
        each for name, home in homes.items() for each in program(name).sessions.find(home, folder)
    ]
    seen: set[str] = set()
    for found in sorted(listed, key=lambda each: (-each.updated, str(each.path))):
        sessions = program(found.source).sessions
        if sessions.has_several_files and found.id in seen:
            continue  # an earlier file of the same session
        seen.add(found.id)
        try:
            opened = sessions.opened(found)
        except OSError:
            continue
        if folder is None or _ran_in(opened, folder):
            yield opened


def _ran_in(found: FoundSession, folder: Path) -> bool:
    if found.folder:
        return Path(found.folder) == folder
    return program(found.source).sessions.may_have_run_in(found, folder)


def present_session(session: ProgramSession) -> ProgramSession | None:
    """The session with its present path: a program or its user may have moved the transcript.

    Returns None if the program does not have the session any more.
    """
    sessions = program(session.program).sessions
    if _is_there(sessions, Path(session.path)):
        return session
    home = program_homes()[session.program]
    found = [each for each in sessions.find(home) if each.id == session.id]
    newest = max(found, key=lambda each: each.updated, default=None)
    return None if newest is None else structs.replace(session, path=str(newest.path))


def _is_there(sessions: SessionFiles, path: Path) -> bool:
    try:
        sessions.updated(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True  # it cannot be read now; reading it says why
    return True


FAR = 16 * HEAD
"""Bytes that are searched if the first rows do not show it."""


def detect_source(head: bytes) -> str | None:
    """The program that wrote a file with this beginning; None if it is not known."""
    asked = sorted(programs_with("sessions"), key=lambda each: each.asked_last)
    return next((each.name for each in asked if each.sessions.wrote(head)), None)


def reader_for(
    source: str,
    path: Path,
    known: SessionDetails | None = None,
    *,
    mask: Mask = mask_secrets,
) -> TranscriptReader:
    """Makes a reader for a program's transcript.

    `known` are details from an earlier import, for a reader that starts in the middle. `mask` masks
    the secrets in tool results.
    """
    sessions = program(source).sessions
    reader = sessions.reader(path, mask)
    reader.details.id = known.id if known else sessions.id_in_name(path)
    reader.details.model = known.model if known else ""
    return reader


class NotATranscript(SapwoodError):
    """A file cannot be read, or is not the transcript of a known program."""

    def __init__(self, path: Path, reason: str) -> None:
        *titles, last = (each.title for each in programs_with("sessions"))
        super().__init__(
            f"{str(path)!r} {reason}. Nothing was changed. "
            f"Give a transcript of {', '.join(titles)} or {last}."
        )
        self.path = path
