"""A session file of pi: read as a tree, and changed by appended rows alone.

pi accepts rows with unknown ids, and then loses the history without a word. So every id is checked
before anything is written. pi has no lock and no list of open sessions: a process of it that runs
in the folder of the session may have the session open.
"""

import os
import secrets
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sapwood.private_files import create_file, locked
from sapwood.programs.agent_provider import SessionBusy
from sapwood.programs.pi.rows import decode_row, encoded_row
from sapwood.programs.pi.session_tree import SessionEntry, SessionTree, entry_of
from sapwood.programs.session_copy import append_lines, extend_copy
from sapwood.programs.transcripts.row_file import decode_json

SESSION_VARIABLE = "SAPWOOD_PI_SESSION"
"""Names the session for which Sapwood started a pi."""
_STARTED = f"{SESSION_VARIABLE}=".encode()
_NAMES = (b"pi", b"pi-rpc")


class PiSession(SessionTree):
    """The tree of a file as it was read. `size` is that of the file."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.size = 0
        self.ends_with_line = True
        self.session = ""
        self.folder = ""
        self._content = b""
        if path.exists():
            self._read()

    def row(self, entry: SessionEntry) -> dict[str, Any]:
        """The fields of an entry's row."""
        return decode_json(self.line(entry), dict[str, Any])

    def line(self, entry: SessionEntry) -> bytes:
        """The bytes of an entry's row."""
        return self._content[entry.start : entry.end]

    def _read(self) -> None:
        self._content = self.path.read_bytes()
        self.size = len(self._content)
        self.ends_with_line = self._content.endswith(b"\n")
        place = 0
        for line in self._content.splitlines(keepends=True):
            start, place = place, place + len(line)
            row = decode_row(line)
            if row is not None and row.type == "session":
                self.session, self.folder = row.id or "", row.cwd or ""
            elif row is not None and row.id:
                self.add(entry_of(row, row.id, row.parent_id, start, place))


def new_id() -> str:
    """The id of a new entry: longer than those of pi, so that it is never one of them."""
    return secrets.token_hex(8)


def timestamp() -> str:
    """The time now, in the form of pi."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def append_rows(
    stored: PiSession, rows: Sequence[dict[str, Any]], copy: Path, own: frozenset[int]
) -> tuple[str, ...]:
    """Appends rows to the session that was read, after a private copy was made.

    Returns their ids. Raises `SessionBusy` if the file has changed since, `ValueError` if a row
    names an unknown entry, and `OSError`.
    """
    _require_known(stored, rows)
    lines = b"".join(map(encoded_row, rows))
    with locked(copy):
        if extend_copy(stored.path, copy).stat().st_size != stored.size:
            raise _changed(stored.path)
        handle = os.open(stored.path, os.O_RDWR | os.O_APPEND)
        try:
            require_at_rest(stored, own)
            if os.fstat(handle).st_size != stored.size:
                raise _changed(stored.path)
            append_lines(handle, lines if stored.ends_with_line else b"\n" + lines, stored.size)
        finally:
            os.close(handle)
    return tuple(str(row["id"]) for row in rows)


def create_session(
    path: Path, session: str, folder: str, rows: Sequence[dict[str, Any]]
) -> tuple[str, ...]:
    """Writes a new session. Returns the ids of its rows. Raises `OSError`."""
    header = {"type": "session", "version": 3, "id": session, "timestamp": timestamp()}
    path.parent.mkdir(parents=True, exist_ok=True)
    create_file(path, b"".join(map(encoded_row, [{**header, "cwd": folder}, *rows])))
    return tuple(str(row["id"]) for row in rows)


def require_at_rest(stored: PiSession, own: frozenset[int]) -> None:
    """Raises `SessionBusy` if a process of pi runs in the session's folder; `own` do not count."""
    if stored.folder and sys.platform == "linux":
        for process in _processes(stored.folder, stored.session):
            if process not in own:
                raise SessionBusy(
                    f"pi runs in {stored.folder} (process {process}) and may have this session "
                    "open. Close it there with /quit, then try again."
                )


def _processes(folder: str, session: str) -> list[int]:
    """The processes of pi in a folder, without those that Sapwood started for another session."""
    found: list[int] = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            # While it starts, it is Node with pi as its script; then it changes its title.
            words = Path(f"/proc/{name}/cmdline").read_bytes().split(b"\0")[:2]
            is_pi = any(os.path.basename(word.strip()) in _NAMES for word in words)
            if is_pi and os.readlink(f"/proc/{name}/cwd") == folder:
                environ = Path(f"/proc/{name}/environ").read_bytes().split(b"\0")
                started = [each for each in environ if each.startswith(_STARTED)]
                if not started or started == [_STARTED + session.encode()]:
                    found.append(int(name))
        except OSError:
            continue  # it ended, or belongs to another user
    return found


def _require_known(stored: PiSession, rows: Sequence[dict[str, Any]]) -> None:
    known: set[object] = {*stored.entries, None}
    for row in rows:
        named = {row["parentId"], row.get("targetId"), row.get("firstKeptEntryId", None)}
        if not named - {row["id"]} <= known:
            raise ValueError(f"{row['type']} refers to an entry that is not in the session")
        known.add(row["id"])


def _changed(path: Path) -> SessionBusy:
    return SessionBusy(f"{path.name} has just changed. Nothing was written; try again.")
