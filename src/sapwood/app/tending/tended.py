"""A session that is tended: its transcript, and what hooks remember of it."""

import json
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from sapwood.app.folders import data_folder
from sapwood.app.tending.memory import Memory

if TYPE_CHECKING:
    from sapwood.core.session import Session

__all__ = ["GLANCE", "MUCH", "TAIL", "Tended", "tending_folder"]

GLANCE = 64_000
"""Bytes at the end of a transcript in which the last reply stands, with its figures."""
TAIL = 256_000
"""Bytes of a transcript that a hook reads: some hundred messages."""
MUCH = 2_000_000
"""Bytes that are read where nobody waits."""

_PATIENCE, _STEP = 0.25, 0.025


def tending_folder() -> str:
    """Where hooks keep what they remember."""
    return str(data_folder() / "tending")


class Tended:
    """A transcript, with the session and the folder that its program says it is of."""

    def __init__(self, path: str, session: str, folder: str) -> None:
        self.path = path
        self.session = session
        self.folder = folder
        self.memory = Memory(tending_folder(), session)

    @property
    def size(self) -> int:
        """The length of the transcript in bytes, -1 if it is not there."""
        try:
            return os.stat(self.path).st_size
        except OSError:
            return -1

    def read(self, size: int = TAIL) -> "Session":
        """The session as the last part of its transcript tells it.

        The time that this takes depends on `size`, and not on the length of the transcript.
        """
        from msgspec import structs

        from sapwood.sources.sessions import tail_session

        found = tail_session(Path(self.path), max_bytes=size)
        session, folder = self.session or found.id, found.folder or self.folder
        return structs.replace(found, id=session, folder=folder)

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
                file.seek(max(0, self.size - GLANCE))
                return wanted in file.read(GLANCE)
        except OSError:
            return False
