"""The transcripts of Codex: `sessions/YEAR/MONTH/DAY/rollout-….jsonl` in its home.

A thread begins in `rollout-TIME-THREAD.jsonl`. After a revert it continues in another file, a
segment: `rollout-TIME-THREAD_SEGMENT.jsonl`. The folders are the day on which the file was begun.
"""

import re
from collections.abc import Iterable
from itertools import chain
from pathlib import Path

from sapwood.programs.codex.program import PROGRAM
from sapwood.programs.transcripts.session_files import SessionFiles
from sapwood.programs.transcripts.transcript_events import Mask, TranscriptReader

_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_NAME = re.compile(rf"(?P<begin>.*?)(?P<thread>{_UUID})(?:_(?P<segment>{_UUID}))?", re.IGNORECASE)
_ID_LENGTH = 36
_ROW = re.compile(rb'"type":\s?"(?:session_meta|response_item|turn_context|event_msg)"')


class _Sessions(SessionFiles):
    has_several_files = True

    def wrote(self, head: bytes) -> bool:
        return _ROW.search(head) is not None and b'"payload"' in head

    def reader(self, path: Path, mask: Mask) -> TranscriptReader:
        from sapwood.programs.codex.reader import CodexReader

        return CodexReader(mask=mask)

    def files(self, home: Path, folder: Path | None) -> Iterable[Path]:
        names = ("sessions/*/*/*/rollout-*.jsonl", "archived_sessions/rollout-*.jsonl")
        return chain.from_iterable(map(home.glob, names))

    def session_in(self, path: Path) -> str:
        return _thread_and_segment(path)[0]

    def parts_of(self, path: Path) -> list[tuple[str, Path]]:
        return [(_thread_and_segment(each)[1], each) for each in _thread_files(path)]


SESSIONS = _Sessions(PROGRAM)


def _thread_and_segment(path: Path) -> tuple[str, str]:
    """The ids in the name of a file; the first file of a thread has no segment.

    >>> name = "rollout-2026-11-15T20-34-54-01a1e0eb-8813-7583-9b11-411efef3d821.jsonl"
    >>> _thread_and_segment(Path(name))
    ('01a1e0eb-8813-7583-9b11-411efef3d821', '')
    """
    found = _NAME.fullmatch(path.stem)
    if found is None:
        return path.stem[-_ID_LENGTH:], ""
    return found["thread"], found["segment"] or ""


def _thread_files(path: Path) -> list[Path]:
    """All files of the thread to which a file belongs, in the order in which they were begun."""
    thread, _ = _thread_and_segment(path)
    if _NAME.fullmatch(path.stem) is None:
        return [path]
    names = f"rollout-*{thread}*.jsonl"
    in_days = path.parents[3].glob(f"*/*/*/{names}") if _is_in_day(path) else ()
    found = {path, *path.parent.glob(names), *in_days}
    own = [each for each in found if _thread_and_segment(each)[0] == thread]
    return sorted(own, key=_order)


def _is_in_day(path: Path) -> bool:
    day = path.parts[-4:-1]
    return len(day) == 3 and all(part.isdecimal() for part in day)


def _order(path: Path) -> tuple[bool, str, str]:
    """The first file, then segments by their ids, which begin with their time."""
    segment = _thread_and_segment(path)[1]
    return bool(segment), segment, path.name
