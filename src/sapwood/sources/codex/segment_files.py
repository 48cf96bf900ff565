"""The files of one Codex thread: after a revert the program goes on in another file, a segment.

The first file is `rollout-TIME-THREAD.jsonl`, a segment is `rollout-TIME-THREAD_SEGMENT.jsonl`. The
folders above are the day on which the file was begun.
"""

import re
from pathlib import Path

_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_NAME = re.compile(rf"(?P<begin>.*?)(?P<thread>{_UUID})(?:_(?P<segment>{_UUID}))?", re.IGNORECASE)
_ID_LENGTH = 36


def codex_thread(path: Path) -> tuple[str, str]:
    """The ids of the thread and of the segment in the name of a file; the first file has none.

    >>> codex_thread(Path("rollout-2026-11-15T20-34-54-01a1e0eb-8813-7583-9b11-411efef3d821.jsonl"))
    ('01a1e0eb-8813-7583-9b11-411efef3d821', '')
    """
    found = _NAME.fullmatch(path.stem)
    if found is None:
        return path.stem[-_ID_LENGTH:], ""
    return found["thread"], found["segment"] or ""


def thread_files(path: Path) -> list[Path]:
    """All files of the thread to which a file belongs, in the order in which they were begun."""
    thread, _ = codex_thread(path)
    if _NAME.fullmatch(path.stem) is None:
        return [path]
    names = f"rollout-*{thread}*.jsonl"
    in_days = path.parents[3].glob(f"*/*/*/{names}") if _is_in_day(path) else ()
    found = {path, *path.parent.glob(names), *in_days}
    own = [each for each in found if codex_thread(each)[0] == thread]
    return sorted(own, key=_order)


def _is_in_day(path: Path) -> bool:
    day = path.parts[-4:-1]
    return len(day) == 3 and all(part.isdecimal() for part in day)


def _order(path: Path) -> tuple[bool, str, str]:
    """The first file, then segments by their ids, which begin with their time."""
    segment = codex_thread(path)[1]
    return bool(segment), segment, path.name
