"""Detects which program wrote a transcript, and makes the reader for it."""

from pathlib import Path

from sapwood.core.errors import SapwoodError
from sapwood.programs.registry import in_question_order, program, programs_with
from sapwood.programs.transcripts.session_files import HEAD
from sapwood.programs.transcripts.transcript_events import Mask, SessionDetails, TranscriptReader
from sapwood.redaction import mask_secrets

FAR = 16 * HEAD
"""Bytes that are searched if the first rows do not show it."""


def detect_source(head: bytes) -> str | None:
    """The program that wrote a file with this beginning; None if it is not known."""
    asked = (each for each in in_question_order() if "sessions" in each.parts)
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
