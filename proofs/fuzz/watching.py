"""Watches what a process writes to: an audit hook, which nothing in Python gets around."""

import os
import sys
from pathlib import Path

__all__ = ["Watch"]

_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_CHANGES = frozenset(
    {
        *("os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link", "os.symlink"),
        *("os.truncate", "os.chmod", "os.chown", "os.utime", "shutil.move", "shutil.rmtree"),
    }
)


class Watch:
    """Notes every path outside of a folder that something is about to write to."""

    def __init__(self, folder: Path) -> None:
        self._inside = os.path.realpath(folder)
        self.outside: list[str] = []
        sys.addaudithook(self._hear)

    def _hear(self, event: str, args: tuple[object, ...]) -> None:
        if event == "open":
            path, _, flags = args
            if isinstance(flags, int) and flags & _WRITES:
                self._note(event, path)
        elif event in _CHANGES:
            for path in args[:2] if event in ("os.rename", "os.link") else args[:1]:
                self._note(event, path)
        elif event == "sqlite3.connect":
            self._note(event, args[0])

    def _note(self, event: str, path: object) -> None:
        if isinstance(path, int):
            return  # of a file that was open before
        real = os.path.realpath(str(path))
        if real != self._inside and not real.startswith(f"{self._inside}{os.sep}"):
            self.outside.append(f"{event} {real}")
