"""The program's own compaction that a history still begins with: its text and its rows."""

from collections.abc import Sequence

from msgspec import Struct

from sapwood.core.view.frames import REQUEST_FRAME
from sapwood.programs.claude_code.contents import text_of
from sapwood.programs.claude_code.rows import decode_row
from sapwood.programs.claude_code.transcript import LinkRow, Transcript
from sapwood.programs.shown_summary import shows

_SAPWOOD = "sapwood"


class ProgramSummary(Struct, frozen=True):
    """The text of the summary, and the rows that the program kept behind it."""

    text: str
    kept: tuple[str, ...] = ()


def find_program_summary(transcript: Transcript, front: Sequence[str]) -> ProgramSummary | None:
    """The newest compaction of the program whose summary these texts contain; None if none is.

    A quoted turn or a pin in front is none of the program's: then the texts are used as they are.
    """
    if not front or any(not text.startswith(REQUEST_FRAME) for text in front[1:]):
        return None
    for row in reversed(transcript.rows):
        text = _own_text(transcript, row) if row.is_compact_summary else ""
        if text and shows(front[0], text):
            return ProgramSummary(text, _kept_rows(transcript, row))
    return None


def _own_text(transcript: Transcript, row: LinkRow) -> str:
    decoded = decode_row(transcript.bytes_of(row))
    if decoded is None or decoded.message is None or decoded.written_by == _SAPWOOD:
        return ""
    return text_of(decoded.message.content)


def _kept_rows(transcript: Transcript, summary: LinkRow) -> tuple[str, ...]:
    """The rows that the boundary before a summary lists; none if it lists none."""
    boundary = transcript.row(summary.parent_uuid or "")
    metadata = boundary.compact_metadata if boundary else None
    listed = metadata.preserved.uuids if metadata and metadata.preserved else None
    rows = [transcript.row(uuid) for uuid in listed or ()]
    return tuple(row.uuid for row in rows if row and row.uuid and row.is_message)
