"""Compares what Claude Code would load from a transcript with the history that it must contain.

The rows that the program would load, in its own order, are read like any transcript. Each turn of
the view must come out of them again: its prompt, its calls and its replies. So a row that was left
out, of whatever kind, is found right after the change, also if nobody resumes the session.
"""

import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from sapwood.core.content import RecordedReply, Text, ToolCall
from sapwood.core.turn import Reply, Turn
from sapwood.programs.agent_provider import History
from sapwood.programs.claude_code.history_rows import HistoryRows
from sapwood.programs.claude_code.reader import ClaudeReader
from sapwood.programs.claude_code.row_forms import call_id
from sapwood.programs.claude_code.rows import decode_row, has_only_results, text_of
from sapwood.programs.claude_code.transcript import LinkRow, Transcript, read_transcript
from sapwood.programs.transcripts.transcript_events import TranscriptTurn, unmasked
from sapwood.programs.transcripts.turn_builder import continues_a_turn

_SECONDS_TO_WRITE = 2.0
_PAUSE = 0.01


def gives(transcript: Transcript, wanted: HistoryRows) -> bool:
    """Whether the program would load exactly the wanted rows already."""
    loaded = transcript.loaded()
    if loaded is None or any(not group for group in wanted.groups):
        return False
    rows = [row for row in loaded if row.is_message]
    ids = {row.uuid or "" for row in rows}
    if not set(wanted.uuids) >= ids or not ids.issuperset((*wanted.kept, *wanted.waiting)):
        return False
    if front_texts(transcript, loaded) != wanted.front:
        return False
    return _groups_are_in(rows, transcript, wanted)


def _groups_are_in(rows: Sequence[LinkRow], transcript: Transcript, wanted: HistoryRows) -> bool:
    """Whether each turn is among these rows, from its first to its last message, in order.

    Results of parallel calls are beside the chain, where the program finds them too.
    """
    places = {row.uuid or "": place for place, row in enumerate(rows)}
    edges: list[int] = []
    for group in wanted.groups:
        on_chain = [places[uuid] for uuid in group if uuid in places]
        spoken = [uuid for uuid in group if _speaks(transcript.row(uuid))]
        if not on_chain or not spoken or spoken[0] not in places or spoken[-1] not in places:
            return False
        edges += [min(on_chain), max(on_chain)]
    return edges == sorted(edges)


def _speaks(row: LinkRow | None) -> bool:
    return row is not None and row.is_spoken


def front_texts(transcript: Transcript, loaded: Sequence[LinkRow]) -> tuple[str, ...]:
    texts: list[str] = []
    for row in loaded:
        if row.is_compact_summary and (decoded := decode_row(transcript.bytes_of(row))):
            content = decoded.message.content if decoded.message else None
            if isinstance(content, list):
                texts += [text_of([block]) for block in content]
            else:
                texts.append(content or "")
    return tuple(texts)


def tail_cut(transcript: Transcript, wanted: HistoryRows) -> tuple[str, str] | None:
    """The prompt before which the history must end, and the newest prompt.

    None if more than its end has to change, or if that cannot be said with certainty.
    """
    loaded = transcript.loaded()
    if loaded is None or front_texts(transcript, loaded) != wanted.front or wanted.new:
        return None
    kept = set(wanted.uuids)
    place = next((n for n, row in enumerate(loaded) if row.is_message and row.uuid not in kept), 0)
    rest = loaded[place:]
    if (not place and kept) or any(row.uuid in kept for row in rest):
        return None
    prompts = [row for row in rest if row.type == "user" and not transcript.has_result(row)]
    if not prompts or prompts[0] is not rest[0] or prompts[0].uuid is None:
        return None
    if not _groups_are_in(loaded[:place], transcript, wanted):
        return None
    return prompts[0].uuid, prompts[-1].uuid or ""


def comes_to(path: Path, wanted: HistoryRows) -> bool:
    """Waits until the program has written that it has this history. False if it never does."""
    until = time.monotonic() + _SECONDS_TO_WRITE
    while not gives(read_transcript(path), wanted):
        if time.monotonic() > until:
            return False
        time.sleep(_PAUSE)
    return True


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
        return (
            "The Claude Code session does not start with the pins and the summary that it should."
        )
    turns = [row for row in loaded if row.uuid not in rows.kept]
    read = _read_turns(transcript, transcript.with_parallel_results(turns))
    wanted = _rejoined([each.turn for each in history.turns])
    if len(read) != len(wanted):
        return f"The Claude Code session has {len(read)} turns, but the view has {len(wanted)}."
    pairs = [(each, turn) for each, pieces in zip(read, wanted, strict=True) for turn in pieces]
    return next((told for each, turn in pairs if (told := _turn_difference(each, turn))), "")


def _rejoined(turns: Sequence[Turn]) -> list[list[Turn]]:
    """The turns, each with the pieces into which the program's own compactions cut it."""
    found: list[list[Turn]] = []
    for turn in turns:
        if found and continues_a_turn(turn.prompt):
            found[-1].append(turn)
        else:
            found.append([turn])
    return found


def _read_turns(transcript: Transcript, rows: Iterable[LinkRow]) -> list[TranscriptTurn]:
    """The turns of these rows, without most results: they are long, and nothing compares them."""
    reader, is_open = ClaudeReader(mask=unmasked), False
    for row in rows:
        if row.is_message:
            content = transcript.bytes_of(row)
            if is_open and row.type == "user" and has_only_results(content):
                continue
            is_open = row.type == "assistant"
            reader.feed(content, row.start)
    reader.finish()
    return [each for each in reader.events if isinstance(each, TranscriptTurn)]


def _turn_difference(read: TranscriptTurn, turn: Turn) -> str:
    sent = "\n".join(_squeezed(part.text) for part in read.prompt if not continues_a_turn((part,)))
    for part in turn.prompt:
        if isinstance(part, Text) and not _is_in(part.text, sent):
            return _lost("prompt", part.text)
    if not sent and not continues_a_turn(turn.prompt):
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


def _is_in(text: str, sent: str) -> bool:
    """Whether the beginning of a text was found. A text with a masked secret counts as found."""
    return _MASK in text or _squeezed(text)[:_LENGTH] in sent


def _squeezed(text: str) -> str:
    return " ".join(text.split())


def _lost(what: str, text: str) -> str:
    line = _squeezed(text)
    short = line if len(line) <= _LENGTH else f"{line[: _LENGTH - 1]}…"
    return f"The Claude Code session is missing the {what} '{short}', which is in view."
