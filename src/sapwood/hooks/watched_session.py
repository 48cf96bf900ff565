"""A session of another program: its transcript, what hooks remember, and its background process."""

import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from sapwood.context_actions.hook_memory import HookMemory, hook_memory_folder

if TYPE_CHECKING:
    from sapwood.analysis.session import Session


LAST_REPLY_BYTES = 64_000
"""Bytes at the end of a transcript that contain the last reply and its token counts."""
HOOK_BYTES = 256_000
"""Bytes at the end of a transcript that a hook reads: about a hundred messages."""
BACKGROUND_BYTES = 2_000_000
"""Bytes at the end of a transcript that the background process reads."""

_WAIT_SECONDS, _POLL_SECONDS = 0.25, 0.025


class WatchedSession:
    """A transcript, with the session id and the folder that its program reports."""

    def __init__(self, path: str, session: str, folder: str) -> None:
        self.path = path
        self.session = session
        self.folder = folder
        self.memory = HookMemory(hook_memory_folder(), session)

    @property
    def size(self) -> int:
        """The length of the transcript in bytes, or -1 if the file does not exist."""
        try:
            return os.stat(self.path).st_size
        except OSError:
            return -1

    def read(
        self, size: int = HOOK_BYTES, is_enough: "Callable[[Session], bool] | None" = None
    ) -> "Session":
        """Reads the session from the last `size` bytes of its transcript.

        The time depends on `size` and not on the length of the transcript. With `is_enough`, more
        is read until it returns true.
        """
        from msgspec import structs

        from sapwood.programs.transcripts.session_reader import tail_session

        found = tail_session(Path(self.path), max_bytes=size, is_enough=is_enough)
        session, folder = self.session or found.id, found.folder or self.folder
        return structs.replace(found, id=session, folder=folder)

    def wait_for_last_message(self, message: str = "") -> None:
        """Waits a moment for rows that the program has not written yet.

        With `message`, waits until the transcript contains it; without, until the file stops
        growing.
        """
        until = time.monotonic() + _WAIT_SECONDS
        wanted = json.dumps(message[-60:], ensure_ascii=False)[1:-1].encode("utf-8", "replace")
        before = -1
        while time.monotonic() < until:
            size = self.size
            if self._ends_with(wanted) if wanted else size == before:
                return
            before = size
            time.sleep(_POLL_SECONDS)

    def start_background_work(self, environ: Mapping[str, str]) -> None:
        """Starts the process that prepares and imports this session, and returns at once."""
        self.memory.put("asked", self.size)
        start_process([self.path, self.session, self.folder], environ)

    def _ends_with(self, wanted: bytes) -> bool:
        try:
            with open(self.path, "rb") as file:
                file.seek(max(0, self.size - LAST_REPLY_BYTES))
                return wanted in file.read(LAST_REPLY_BYTES)
        except OSError:
            return False


def start_process(
    args: list[str], environ: Mapping[str, str], module: str = "sapwood.hooks.background_work"
) -> None:
    """Starts a module as a detached process that outlives the calling program."""
    command = [sys.executable, "-m", module, *args]
    if os.fork():
        return
    try:  # this is the new process: it must never return into the hook
        os.setsid()
        silence = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(silence, stream)
        os.closerange(3, 256)
        with suppress(OSError):
            os.nice(5)
        os.execve(command[0], command, dict(environ))
    finally:
        os._exit(1)
