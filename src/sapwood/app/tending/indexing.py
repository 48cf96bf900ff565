"""Work that nobody waits for: preparing what hooks say, completing archives, importing.

Started by hooks as a process of its own, which outlives the program that called the hook.
"""

import os
import sys
import time
from collections.abc import Mapping
from contextlib import suppress

from sapwood.app.tending.memory import forget_old
from sapwood.app.tending.tended import GLANCE, Tended, tending_folder

__all__ = ["index_later", "main"]

_KEPT = 30 * 86_400.0
"""Seconds for which hooks remember a session."""


def index_later(tended: Tended, environ: Mapping[str, str]) -> None:
    """Starts the work and returns at once."""
    tended.memory.put("asked", tended.size)
    start([tended.path, tended.session, tended.folder], environ)


def start(args: list[str], environ: Mapping[str, str]) -> None:
    """Starts a process that does the work, and lets go of it."""
    command = [sys.executable, "-m", __name__, *args]
    if os.fork():
        return
    try:  # from here on in the new process, which must never return into the hook
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


def main(path: str, session: str, folder: str, environ: Mapping[str, str] = os.environ) -> None:
    """The work itself. What goes wrong is told by the journal."""
    from sapwood.app.journaling import note
    from sapwood.app.tending.keeping import complete_archives
    from sapwood.app.tending.preparing import prepare
    from sapwood.app.tending.turnstile import one_at_a_time

    tended = Tended(path, session, folder)
    try:
        with one_at_a_time(tended.memory.place, "prepare") as may_go:
            if may_go:
                tended.await_last()
                prepare(tended, environ)
                complete_archives()
        _note_window(tended)
        forget_old(tending_folder(), time.time() - _KEPT)
        _import(tended, environ)
    except Exception as error:
        says = f"Indexing stopped: {type(error).__name__}: {error}"
        note("failed", says, session=session, folder=folder)


def _note_window(tended: Tended) -> None:
    """What the model takes, for warnings in sessions without a status line that would tell it."""
    if not tended.memory.number("window"):
        from sapwood.models import window_of

        session = tended.read(GLANCE)
        window = session.window or (window_of(session.model) if session.model else None)
        tended.memory.put("window", window or "")


def _import(tended: Tended, environ: Mapping[str, str]) -> None:
    """Everything that was said becomes events of an ordinary agent."""
    from sapwood.app.tending.bringing import bring
    from sapwood.app.tending.turnstile import one_at_a_time

    with one_at_a_time(tended.memory.place, "import") as may_go:
        if may_go:
            bring(tended, environ)


if __name__ == "__main__":
    _, own_path, own_session, own_folder = sys.argv
    main(own_path, own_session, own_folder)
