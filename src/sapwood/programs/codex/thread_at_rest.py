"""Changes a thread that no program has open: appends rows to its file, and nothing else.

Codex holds a lock on `thread-writer-locks/THREAD.lock` while it has a thread open, and refuses to
open a thread while another process holds it. The same lock is held here during a change.
"""

import fcntl
import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from msgspec import Raw

from sapwood.private_files import lock_held, release_lock
from sapwood.programs.agent_provider import SessionBusy
from sapwood.programs.codex.sessions import row_key
from sapwood.programs.codex.thread_history import HistoryItem, ThreadHistory

_LOCKS = "thread-writer-locks"
_COORDINATION = ".coordination.lock"


def is_open(home: Path, thread: str) -> bool:
    """Whether a process has the thread open. Looks without keeping anybody out."""
    try:
        handle = os.open(home / _LOCKS / f"{thread}.lock", os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        release_lock(handle)
    return False


@contextmanager
def hold_thread(home: Path, thread: str) -> Generator[None]:
    """Keeps every Codex from opening the thread. Raises `SessionBusy` if one has it open."""
    folder = home / _LOCKS
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{thread}.lock"
    with lock_held(folder / _COORDINATION, 0o644):
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(handle)
            raise SessionBusy(
                f"Session {thread} is open in Codex. Close it there, then try again."
            ) from None
    try:
        yield
    finally:
        with lock_held(folder / _COORDINATION, 0o644):
            with suppress(OSError):
                path.unlink()
            release_lock(handle)


def replacement_rows(
    history: ThreadHistory, wanted: Sequence[HistoryItem], now: datetime
) -> list[bytes]:
    """The rows after which the model sees exactly these items.

    If all of Codex's own announcements are in front, they stay there, and two more rows tell Codex
    that it need not repeat them: then the beginning of the request is what it was. Otherwise Codex
    announces itself again after the items.
    """
    kept = history.announcements if history.announced else []
    items = [Raw(each) for each in kept] + [Raw(item.payload) for item in wanted]
    payloads: list[tuple[str, object]] = [
        ("compacted", {"message": "", "replacement_history": items})
    ]
    if history.announced:
        payloads.append(("world_state", Raw(history.world)))
        payloads.append(("turn_context", Raw(history.turn_context)))
    timestamp = now.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    rows: list[bytes] = []
    for number, (kind, payload) in enumerate(payloads, 1):
        row: dict[str, object] = {"timestamp": timestamp}
        if history.ordinal is not None:
            row["ordinal"] = history.ordinal + number
        rows.append(msgspec.json.encode({**row, "type": kind, "payload": payload}) + b"\n")
    return rows


def append_history(path: Path, size: int, rows: Sequence[bytes]) -> tuple[str, ...]:
    """Appends rows in one write and returns their names.

    `size` is what the file had when it was read. Raises `SessionBusy` if it has changed, `OSError`
    if not all rows could be written; the file is then as it was.
    """
    handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
    try:
        if os.fstat(handle).st_size != size:
            raise SessionBusy("The session has just changed. Try again.")
        broken = size > 0 and os.pread(handle, 1, size - 1) != b"\n"
        data = (b"\n" if broken else b"") + b"".join(rows)
        written = os.write(handle, data)
        if written != len(data):
            os.ftruncate(handle, size)
            raise OSError("not all rows could be written")
        os.fsync(handle)
    finally:
        os.close(handle)
    offset, keys = size + broken, list[str]()
    for row in rows:
        keys.append(row_key(path, offset))
        offset += len(row)
    return tuple(keys)
