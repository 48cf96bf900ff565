"""Compares what Claude Code would load from a transcript with the history that it must contain."""

import time
from collections.abc import Sequence
from pathlib import Path

from sapwood.programs.claude_code.contents import text_of
from sapwood.programs.claude_code.history_rows import HistoryRows
from sapwood.programs.claude_code.rows import decode_row
from sapwood.programs.claude_code.transcript import LinkRow, Transcript, read_transcript

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
