"""The transcripts of Codex: `sessions/YEAR/MONTH/DAY/rollout-….jsonl` in its home.

A thread begins in `rollout-TIME-THREAD.jsonl`. After a revert it continues in another file, a
segment: `rollout-TIME-THREAD_SEGMENT.jsonl`, whose first row names the part of an earlier file that
comes before it. A fork begins in the same way with a part of another thread's file. The folders are
the day on which the file was begun.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import chain
from pathlib import Path

from sapwood.programs.codex.program import PROGRAM
from sapwood.programs.transcripts.conversation_builder import TranscriptReader
from sapwood.programs.transcripts.session_files import SessionFiles
from sapwood.programs.transcripts.transcript_events import Mask

_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_ID = re.compile(_UUID)
_KEY = re.compile(rf"({_UUID})?@(\d{{1,15}})")
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
        return thread_and_segment(path)[0]

    def parts_of(self, path: Path) -> list[tuple[str, Path]]:
        return [(thread_and_segment(each)[1], each) for each in _files_of_thread(path)]


SESSIONS = _Sessions(PROGRAM)


def thread_and_segment(path: Path) -> tuple[str, str]:
    """The ids in the name of a file; the first file of a thread has no segment.

    >>> name = "rollout-2026-11-15T20-34-54-01a1e0eb-8813-7583-9b11-411efef3d821.jsonl"
    >>> thread_and_segment(Path(name))
    ('01a1e0eb-8813-7583-9b11-411efef3d821', '')
    """
    found = _NAME.fullmatch(path.stem)
    if found is None:
        return path.stem[-_ID_LENGTH:], ""
    return found["thread"], found["segment"] or ""


def _files_of_thread(path: Path) -> list[Path]:
    """All files of the thread to which a file belongs, in the order in which they were begun."""
    thread, _ = thread_and_segment(path)
    if _NAME.fullmatch(path.stem) is None:
        return [path]
    names = f"rollout-*{thread}*.jsonl"
    in_days = path.parents[3].glob(f"*/*/*/{names}") if _is_in_day(path) else ()
    found = {path, *path.parent.glob(names), *in_days}
    own = [each for each in found if thread_and_segment(each)[0] == thread]
    return sorted(own, key=_order)


def _is_in_day(path: Path) -> bool:
    day = path.parts[-4:-1]
    return len(day) == 3 and all(part.isdecimal() for part in day)


def _order(path: Path) -> tuple[bool, str, str]:
    """The first file, then segments by their ids, which begin with their time."""
    segment = thread_and_segment(path)[1]
    return bool(segment), segment, path.name


def is_id(name: str) -> bool:
    """Whether a name is an id of a thread, so that it is safe as a part of a path."""
    return _ID.fullmatch(name) is not None


def segment_of(path: Path) -> str:
    """The segment in a file's name; empty for the first file of a thread."""
    return thread_and_segment(path)[1]


def row_key(path: Path, offset: int) -> str:
    """The name of a row: its place, with the segment unless it is in a thread's first file.

    >>> row_key(Path("rollout-2026-11-15T20-28-13-01a1e0e5-6960-7d01-97b9-94aecfc30d94.jsonl"), 80)
    '@80'
    """
    return f"{segment_of(path)}@{offset}"


def split_key(key: str) -> tuple[str, int] | None:
    """The segment and the place in a row's name; None if it is none."""
    found = _KEY.fullmatch(key)
    return (found[1] or "", int(found[2])) if found else None


def current_file(home: Path, thread: str) -> Path | None:
    """The file in which a thread continues; None if there is none."""
    if not is_id(thread):
        return None
    files = sorted(_files(home, f"{thread}*"), key=segment_of)
    if len(files) > 1 and (noted := _noted_file(home, thread)) in files:
        return noted
    return files[-1] if files else None


def thread_files(home: Path, thread: str, copies: Path | None = None) -> list[Path]:
    """All files of a thread, and their private copies in this folder."""
    if not is_id(thread):
        return []
    kept = copies.glob(f"rollout-*-{thread}*.jsonl") if copies is not None else ()
    return [*_files(home, f"{thread}*"), *kept]


def find_file(home: Path, thread_or_segment: str, near: Path | None = None) -> Path | None:
    """The file of a segment, or the first file of a thread. `near` is a file of the thread."""
    if not is_id(thread_or_segment):
        return None
    if near is not None:
        for name in (f"*_{thread_or_segment}.jsonl", f"*-{thread_or_segment}.jsonl"):
            if found := next(near.parent.glob(f"rollout-{name}"), None):
                return found
    found = next(_files(home, f"*_{thread_or_segment}"), None)
    return found or next(_files(home, thread_or_segment), None)


def _files(home: Path, name: str) -> Iterator[Path]:
    """Files by the end of their name, from the folder of their day if it is known."""
    pattern = f"rollout-*-{name}.jsonl"
    found = [path for day in _days(name) for path in (home / "sessions" / day).glob(pattern)]
    if not found:
        found = [*home.glob(f"sessions/*/*/*/{pattern}")]
    yield from (path for path in found if _NAME.fullmatch(path.stem))
    yield from (path for path in home.glob(f"archived_sessions/{pattern}"))


def _days(name: str) -> list[str]:
    """The folders of the day in a UUID of version 7, and of the days around it.

    Later segments of a thread may be in later folders, so a thread's own id decides nothing.
    """
    if "*" in name.removeprefix("*_") or (found := _ID.search(name)) is None:
        return []
    seconds = int(found[0].replace("-", "")[:12], 16) / 1000
    try:
        day = datetime.fromtimestamp(seconds, UTC)
        return [f"{day + timedelta(days=more):%Y/%m/%d}" for more in (0, -1, 1)]
    except (OverflowError, ValueError, OSError):
        return []


def _noted_file(home: Path, thread: str) -> Path | None:
    """The current file of a thread as Codex has noted it; None if that cannot be read."""
    import sqlite3
    from contextlib import closing

    for database in sorted(home.glob("state_*.sqlite"), reverse=True):
        try:
            with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=1)) as base:
                found = base.execute("SELECT rollout_path FROM threads WHERE id = ?", (thread,))
                row = found.fetchone()
                return Path(row[0]) if row and isinstance(row[0], str) else None
        except sqlite3.Error:
            continue
    return None
