"""What hooks remember between calls: one small file for each value, in a folder for each session.

Hooks, the status line and the background process write at the same time. Each value has a file of
its own that is replaced as a whole, so no lock is needed. Losing all of it does no harm. Only the
standard library is imported, because the status line is drawn several times a second.
"""

import os
import re
from contextlib import suppress

from sapwood.config.folders import data_folder
from sapwood.private_files import replace_file

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]")


def hook_memory_folder() -> str:
    """The folder of everything that hooks remember."""
    return str(data_folder() / "tending")


class HookMemory:
    """The values that are remembered for one session."""

    def __init__(self, folder: str, session: str) -> None:
        self.folder = os.path.join(folder, "sessions", _safe(session))

    def get(self, name: str) -> str:
        """The value of that name, empty if there is none."""
        return _read(os.path.join(self.folder, name))

    def number(self, name: str) -> int:
        """The value as a number, 0 if it is not one."""
        text = self.get(name)
        return int(text) if text.isdecimal() else 0

    def names(self) -> list[str]:
        """The names of all values."""
        try:
            return sorted(name for name in os.listdir(self.folder) if not name.endswith(".new"))
        except OSError:
            return []

    def forget(self, name: str) -> None:
        """Removes the value."""
        with suppress(OSError):
            os.unlink(os.path.join(self.folder, name))

    def put(self, name: str, value: object) -> None:
        """Stores the value in place of the old one."""
        _write(os.path.join(self.folder, name), str(value))


def remember_session(folder: str, project: str, session: str, transcript: str) -> None:
    """Remembers the session that was last seen in a project's folder."""
    if session and transcript:
        _write(os.path.join(folder, "projects", _name(project)), f"{session}\n{transcript}")


def last_session(folder: str, project: str) -> tuple[str, str]:
    """The session that was last seen in a project's folder, and its transcript; else empty."""
    session, _, transcript = _read(os.path.join(folder, "projects", _name(project))).partition("\n")
    return session, transcript


def forget_old(folder: str, before: float) -> None:
    """Removes sessions for which nothing was stored since `before`, in seconds since 1970."""
    sessions = os.path.join(folder, "sessions")
    with suppress(OSError):
        for name in os.listdir(sessions):
            session = os.path.join(sessions, name)
            if os.stat(session).st_mtime < before:
                for each in os.listdir(session):
                    os.unlink(os.path.join(session, each))
                os.rmdir(session)


def _name(project: str) -> str:
    """A name for a folder: its own, and a checksum that distinguishes folders of that name."""
    from zlib import crc32

    return f"{_safe(os.path.basename(project))}-{crc32(os.fsencode(project)):08x}"


def _safe(name: str) -> str:
    return _UNSAFE.sub("_", name)[:80].lstrip(".") or "_"


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(100_000)
    except OSError:
        return ""


def _write(path: str, text: str) -> None:
    with suppress(OSError):
        replace_file(path, text)
