"""What hooks remember from one call to the next: one small file for each thing, by session.

Hooks, the status line and the work in the background write at the same time; a file for each
thing, replaced as a whole, needs no lock. All of it could be lost without harm. Only the standard
library is used here, because the status line is drawn several times a second.
"""

import os
import re
from contextlib import suppress

__all__ = ["Memory", "forget_old", "last_session", "remember_session"]

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]")


class Memory:
    """What is remembered of one session, under `folder`."""

    def __init__(self, folder: str, session: str) -> None:
        self.place = os.path.join(folder, "sessions", _safe(session))

    def get(self, name: str) -> str:
        """The thing of that name, empty if there is none."""
        return _read(os.path.join(self.place, name))

    def number(self, name: str) -> int:
        """The thing as a number, 0 if it is none."""
        text = self.get(name)
        return int(text) if text.isdecimal() else 0

    def names(self) -> list[str]:
        """The names of all things."""
        try:
            return sorted(name for name in os.listdir(self.place) if not name.endswith(".new"))
        except OSError:
            return []

    def forget(self, name: str) -> None:
        """Forgets it."""
        with suppress(OSError):
            os.unlink(os.path.join(self.place, name))

    def put(self, name: str, value: object) -> None:
        """Remembers it, in place of what was there."""
        _write(os.path.join(self.place, name), str(value))


def remember_session(folder: str, project: str, session: str, transcript: str) -> None:
    """Notes which session was last seen in a project's folder."""
    if session and transcript:
        _write(os.path.join(folder, "projects", _name(project)), f"{session}\n{transcript}")


def last_session(folder: str, project: str) -> tuple[str, str]:
    """The session last seen in a project's folder and its transcript; empty if none was."""
    session, _, transcript = _read(os.path.join(folder, "projects", _name(project))).partition("\n")
    return session, transcript


def forget_old(folder: str, before: float) -> None:
    """Forgets sessions of which nothing was remembered since a time in seconds since 1970."""
    sessions = os.path.join(folder, "sessions")
    with suppress(OSError):
        for name in os.listdir(sessions):
            place = os.path.join(sessions, name)
            if os.stat(place).st_mtime < before:
                for each in os.listdir(place):
                    os.unlink(os.path.join(place, each))
                os.rmdir(place)


def _name(project: str) -> str:
    """A name for a folder: its own, and a number that tells it from others of that name."""
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
    fresh = f"{path}.{os.getpid()}.new"
    with suppress(OSError):
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        with open(fresh, "w", encoding="utf-8", errors="replace") as file:
            file.write(text)
        os.replace(fresh, path)
