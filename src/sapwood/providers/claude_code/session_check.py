"""Compares what Claude Code would load from a transcript with the view, before it is ever sent.

The rows that the program would load, in its own order, are read like any transcript. Each turn of
the view must come out of them again: its prompt, its calls and its replies. So a row that was left
out, of whatever kind, is found right after the change, also if nobody resumes the session.
"""

from collections.abc import Iterable, Sequence

from sapwood.core.content import Note, PromptPart, RecordedReply, Text, ToolCall
from sapwood.core.turn import Reply, Turn
from sapwood.providers.claude_code.history_rows import HistoryRows
from sapwood.providers.claude_code.loaded_history import front_texts
from sapwood.providers.claude_code.row_forms import call_id
from sapwood.providers.claude_code.transcript import LinkRow, Transcript
from sapwood.runtime.agent_provider import History
from sapwood.sources.claude.reader import ClaudeReader
from sapwood.sources.transcript_events import TranscriptTurn, unmasked
from sapwood.sources.turn_builder import GOES_ON

_LENGTH = 60
_MASK = "[secret: "


def session_difference(transcript: Transcript, rows: HistoryRows, history: History) -> str:
    """How what the program would load differs from the history; empty if it does not.

    `rows` are the rows that were chosen: what stands before the first turn is compared with them.
    Empty also if only the program knows what it would load.
    """
    loaded = transcript.loaded()
    if loaded is None:
        return ""
    if front_texts(transcript, loaded) != rows.front:
        return "The Claude Code session does not start with the texts that come before the view."
    turns = [row for row in loaded if row.uuid not in rows.kept]
    read = _read_turns(transcript, transcript.with_parallel_results(turns))
    if len(read) != len(history.turns):
        return (
            f"The Claude Code session has {len(read)} turns, but the view has {len(history.turns)}."
        )
    pairs = zip(read, (each.turn for each in history.turns), strict=True)
    return next((told for each, turn in pairs if (told := _turn_difference(each, turn))), "")


def _read_turns(transcript: Transcript, rows: Iterable[LinkRow]) -> list[TranscriptTurn]:
    reader = ClaudeReader(mask=unmasked)
    for row in rows:
        if row.is_message:
            reader.feed(transcript.bytes_of(row), row.start)
    reader.finish()
    return [each for each in reader.events if isinstance(each, TranscriptTurn)]


def _turn_difference(read: TranscriptTurn, turn: Turn) -> str:
    sent = "\n".join(_squeezed(part.text) for part in read.prompt if not _is_unknown(part))
    for part in turn.prompt:
        if isinstance(part, Text) and not _is_in(part.text, sent):
            return _lost("prompt", part.text)
    if not sent and not all(map(_is_unknown, turn.prompt)):
        return _lost("prompt", turn.prompt[-1].text)
    if turn.status != "completed":
        return ""  # a program that was stopped may have shown more than it stored
    replies = [item for item in read.items if isinstance(item, RecordedReply)]
    said = "\n".join(_squeezed(text) for text in _texts(replies))
    calls = {part.id for reply in replies for part in reply.parts if isinstance(part, ToolCall)}
    shown = [item for item in turn.items if isinstance(item, Reply)]
    for text in _texts(shown):
        if not _is_in(text, said):
            return _lost("reply", text)
    for reply in shown:
        for call in reply.calls:
            if call.id not in calls and call_id(call.id) not in calls:
                return _lost("call", call.name)
    return ""


def _texts(replies: Sequence[Reply] | Sequence[RecordedReply]) -> list[str]:
    return [part.text for each in replies for part in each.parts if isinstance(part, Text)]


def _is_unknown(part: PromptPart) -> bool:
    """Whether a part stands for a prompt that no row has."""
    return isinstance(part, Note) and part.text == GOES_ON.text


def _is_in(text: str, sent: str) -> bool:
    """Whether the beginning of a text was found. A text with a masked secret counts as found."""
    return _MASK in text or _squeezed(text)[:_LENGTH] in sent


def _squeezed(text: str) -> str:
    return " ".join(text.split())


def _lost(what: str, text: str) -> str:
    line = _squeezed(text)
    short = line if len(line) <= _LENGTH else f"{line[: _LENGTH - 1]}…"
    return f"The Claude Code session is missing the {what} '{short}', which is in view."
