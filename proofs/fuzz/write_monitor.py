"""Records the paths that this process writes to, with an audit hook."""

import os
import sys
from pathlib import Path

_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_CHANGES = frozenset(
    {
        *("os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link", "os.symlink"),
        *("os.truncate", "os.chmod", "os.chown", "os.utime", "shutil.move", "shutil.rmtree"),
    }
)


class WriteMonitor:
    """Records every write outside of a folder in `outside`."""

    def __init__(self, folder: Path) -> None:
        self._inside = os.path.realpath(folder)
        self.outside: list[str] = []
        sys.addaudithook(self._on_audit_event)

    def _on_audit_event(self, event: str, args: tuple[object, ...]) -> None:
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
            return  # a file that was already open
        real = os.path.realpath(str(path))
        if real != self._inside and not real.startswith(f"{self._inside}{os.sep}"):
            self.outside.append(f"{event} {real}")
