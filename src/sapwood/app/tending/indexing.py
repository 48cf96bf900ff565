"""Work that nobody waits for: importing a transcript, and finding what a compaction would lose.

Started by hooks as a process of its own, which outlives the program that called the hook. At most
one works and one waits; more would do the same again.
"""

import os
import sys
from contextlib import suppress

from sapwood.app.tending.moment import Moment

__all__ = ["index_later", "main"]


def index_later(moment: Moment) -> None:
    """Starts the work and returns at once."""
    told = moment.told
    command = [sys.executable, "-m", __name__, moment.transcript, told.session]
    if os.fork():
        return
    try:  # from here on in the new process, which must never return into the hook
        os.setsid()
        silence = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(silence, stream)
        os.closerange(3, 256)
        with suppress(OSError):
            os.nice(10)
        os.execve(command[0], command, dict(moment.environ))
    finally:
        os._exit(1)


def main(transcript: str, session: str) -> None:
    """The work itself."""
    from sapwood.app.journaling import note
    from sapwood.app.tending.moment import tending_folder
    from sapwood.app.tending.turnstile import one_at_a_time

    with one_at_a_time(tending_folder()) as may_go:
        if not may_go:
            return
        try:
            _remember_loss(transcript, session)
            _import(transcript)
        except Exception as error:
            note("failed", f"Indexing stopped: {type(error).__name__}: {error}", session=session)


def _remember_loss(transcript: str, session_id: str) -> None:
    """What the status line and the next hook want to know without reading the transcript."""
    from sapwood.app.tending.memory import Memory
    from sapwood.app.tending.moment import tending_folder
    from sapwood.app.tending.transcripts import Transcript
    from sapwood.garden.warning import loss_of
    from sapwood.models import window_of
    from sapwood.tokens.chars4 import Chars4Counter

    told = Transcript(transcript)
    told.await_last()
    session = told.read()
    memory = Memory(tending_folder(), session_id)
    memory.put("loss", loss_of(session, Chars4Counter()).told())
    if not memory.number("window"):
        window = session.window or (window_of(session.model) if session.model else None)
        memory.put("window", window or "")


def _import(transcript: str) -> None:
    """Everything that was said becomes events of an ordinary agent."""


if __name__ == "__main__":
    main(*sys.argv[1:3])
