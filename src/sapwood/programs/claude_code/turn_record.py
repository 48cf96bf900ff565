"""What the transcript says about one turn: whether it has ended, its events, and its rows."""

import hashlib
import time
from pathlib import Path

from msgspec import Struct

from sapwood.core.content import Usage
from sapwood.core.ids import TranscriptRange
from sapwood.core.program_session import NativeRows, ProgramSession
from sapwood.programs.claude_code.reader import ClaudeReader
from sapwood.programs.claude_code.row_forms import prompt_id
from sapwood.programs.claude_code.rows import decode_row, usage_of
from sapwood.programs.claude_code.transcript import Transcript, read_transcript
from sapwood.programs.transcripts.transcript_events import TranscriptTurn

_SECONDS_TO_WRITE = 2.0
_PAUSE = 0.01


class Attempt(Struct, frozen=True):
    """The last time a prompt was sent: the id of its row, and what came after it.

    `turn` is what the model replied. A turn that did not end counts as interrupted, because its
    tool calls must not run twice. `is_open` is true if the prompt is in the history and nothing
    came after it. `next` is the id for the next attempt.
    """

    next: str
    last: str = ""
    is_open: bool = False
    turn: TranscriptTurn | None = None


def find_attempt(transcript: Transcript, session: str, turn: str) -> Attempt:
    """Whether this turn was sent before, and how it ended."""
    count = 0
    while prompt_id(session, turn, count) in transcript.place:
        count += 1
    following = prompt_id(session, turn, count)
    if not count:
        return Attempt(following)
    last = prompt_id(session, turn, count - 1)
    loaded = transcript.loaded() or []
    if all(row.uuid != last for row in loaded):
        return Attempt(following, last)
    found = _turn_from(transcript, transcript.place[last])
    if found is None or (found.status == "open" and not found.items):
        return Attempt(following, last, is_open=True)
    return Attempt(following, last, turn=found)


def native_rows(
    transcript: Transcript, session: ProgramSession, first: str, last: str = ""
) -> NativeRows | None:
    """The rows of the turn that this prompt started; None if they are not there.

    `last` is the id of its last row, if it is known.
    """
    start = transcript.place.get(first)
    if start is None:
        return None
    rows = [row for row in transcript.rows[start:] if row.is_spoken]
    known = [place for place, row in enumerate(rows) if row.uuid == last]
    rows = rows[: known[-1] + 1] if known else rows
    digest = hashlib.sha256(b"\n".join(map(transcript.bytes_of, rows))).hexdigest()
    passage = TranscriptRange(first, rows[-1].uuid or "", rows[-1].start)
    return NativeRows(session, passage, digest)


def wait_for_rows(session: ProgramSession, offset: int, first: str, last: str) -> NativeRows | None:
    """The rows of a turn that has just ended; waits until the program has written the last one."""
    until = time.monotonic() + _SECONDS_TO_WRITE
    found: NativeRows | None = None
    while True:
        try:
            tail = read_transcript(Path(session.path), offset)
        except OSError:
            tail = Transcript(Path(session.path))
        found = native_rows(tail, session, first, last)
        if (found and (not last or last in tail.place)) or time.monotonic() > until:
            return found
        time.sleep(_PAUSE)


def last_usage(path: Path) -> Usage | None:
    """The usage of the newest reply in a transcript."""
    try:
        transcript = read_transcript(path)
    except OSError:
        return None
    for row in reversed(transcript.rows):
        if row.type == "assistant" and row.is_message:
            decoded = decode_row(transcript.bytes_of(row))
            if decoded and decoded.message and (usage := usage_of(decoded.message)):
                return usage
    return None


def _turn_from(transcript: Transcript, place: int) -> TranscriptTurn | None:
    reader = ClaudeReader()
    for row in transcript.rows[place:]:
        if not row.closes_turn:
            reader.feed(transcript.bytes_of(row), row.start)
    reader.finish()
    return next((each for each in reader.events if isinstance(each, TranscriptTurn)), None)
