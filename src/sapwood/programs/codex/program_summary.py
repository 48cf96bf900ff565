"""Codex's own compaction that a history still begins with: its items, word for word."""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from sapwood.core.view.frames import REQUEST_FRAME
from sapwood.programs.codex.contents import is_announcement, is_own_compaction
from sapwood.programs.codex.reader import CodexReader
from sapwood.programs.codex.rows import decode_item, decode_row
from sapwood.programs.codex.sessions import find_file, thread_files
from sapwood.programs.prompt_parts import shows
from sapwood.programs.transcripts.transcript_events import TranscriptCompaction, unmasked

_HEAD = 400
_COMPACTED = re.compile(rb'"type":\s?"compacted"')


class ProgramSummary(Struct, frozen=True):
    """The items of a compaction, and the other texts before and behind them."""

    items: tuple[bytes, ...]
    before: tuple[str, ...] = ()
    behind: tuple[str, ...] = ()


class _Compaction(Struct, frozen=True, order=True):
    """When Codex compacted, what Sapwood shows of it, and its row."""

    at: int
    shown: str
    row: bytes


def find_program_summary(
    front: Sequence[str], home: Path, threads: Iterable[str], copies: Path | None = None
) -> ProgramSummary | None:
    """The newest compaction of these threads that the texts in front show; None if none is.

    The carried request is left out: Codex itself keeps the messages of the user.
    """
    if not front:
        return None
    found = {each for path in _files(home, threads, copies) for each in _compactions(path)}
    for each in sorted(found, reverse=True):
        for place, text in enumerate(front):
            if shows(text, each.shown):
                behind = [text for text in front[place + 1 :] if not text.startswith(REQUEST_FRAME)]
                return ProgramSummary(own_items(each.row), tuple(front[:place]), tuple(behind))
    return None


def _files(home: Path, threads: Iterable[str], copies: Path | None) -> Iterator[Path]:
    """The files of the threads, of those that they were forked from, and the private copies."""
    waiting = [path for thread in threads for path in thread_files(home, thread, copies)]
    seen: set[Path] = set()
    while waiting:
        path = waiting.pop()
        if path in seen:
            continue
        seen.add(path)
        yield path
        base = find_file(home, _base_of(path), path)
        waiting += [base] if base is not None else []


def _base_of(path: Path) -> str:
    """The thread or segment that a file goes on from; empty if there is none."""
    try:
        with path.open("rb") as file:
            row = decode_row(file.readline())
    except OSError:
        return ""
    base = row.payload.history_base if row and row.payload else None
    return (base.thread_id if base else None) or ""


def _compactions(path: Path) -> Iterator[_Compaction]:
    """Codex's own compactions in a file."""
    try:
        with path.open("rb") as file:
            rows = [line for line in file if _COMPACTED.search(line[:_HEAD])]
    except OSError:
        return
    for line in rows:
        if not own_items(line):
            continue
        reader = CodexReader(mask=unmasked)
        reader.feed(line, 0)
        for event in reader.events:
            if isinstance(event, TranscriptCompaction):
                yield _Compaction(event.ref.at, event.boundary.text, line)


def own_items(line: bytes) -> tuple[bytes, ...]:
    """The items that Codex kept when it compacted; none if this is a row of Sapwood."""
    row = decode_row(line)
    payload = row.payload if row else None
    if payload is None or not is_own_compaction(payload):
        return ()
    found = ((bytes(item), decode_item(item)) for item in payload.replacement_history or ())
    return tuple(item for item, read in found if read and not is_announcement(read, asked=False))
