"""The end of a transcript, read in a time that does not grow with its length."""

import json
import os
import time
from pathlib import Path

from msgspec import structs

from sapwood.core.session import Session
from sapwood.sources import tail_session

__all__ = ["TAIL", "Transcript"]

TAIL = 384_000
"""Bytes of a transcript that a hook reads: some hundred messages."""

_PATIENCE, _STEP = 0.25, 0.025
_GLANCE = 64_000


class Transcript:
    """A transcript, and what the program said of it beside: its session and its folder."""

    def __init__(self, path: str, session: str = "", folder: str = "") -> None:
        self.path = path
        self._session = session
        self._folder = folder

    @property
    def size(self) -> int:
        """Its length in bytes, -1 if it is not there."""
        try:
            return os.stat(self.path).st_size
        except OSError:
            return -1

    def read(self) -> Session:
        """The session as the last part of its transcript tells it."""
        found = tail_session(Path(self.path), max_bytes=TAIL)
        return structs.replace(
            found, id=self._session or found.id, folder=found.folder or self._folder
        )

    def await_last(self, said: str = "") -> None:
        """Waits a moment for what the program has not written yet.

        With the last message given, until that is there; else until nothing more comes.
        """
        until = time.monotonic() + _PATIENCE
        wanted = json.dumps(said[-60:], ensure_ascii=False)[1:-1].encode("utf-8", "replace")
        before = -1
        while time.monotonic() < until:
            size = self.size
            if self._ends_with(wanted) if wanted else size == before:
                return
            before = size
            time.sleep(_STEP)

    def _ends_with(self, wanted: bytes) -> bool:
        try:
            with open(self.path, "rb") as file:
                file.seek(max(0, self.size - _GLANCE))
                return wanted in file.read(_GLANCE)
        except OSError:
            return False
