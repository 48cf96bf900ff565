"""The command line `sapwood`.

Imports only what the given command needs.
"""

import atexit
import gc
import os
import sys
import threading
import time
from contextlib import suppress
from typing import NoReturn

__all__ = ["main"]

_GRACE = 3.0
"""Seconds that threads have to end by themselves after a command."""


_OBJECTS_A_COLLECTION = 50_000
"""How many new objects start a garbage collection.

With Python's 700, it searches the modules again and again while they are imported, and the first
word of a reply comes later.
"""


def main() -> None:
    """Runs `sapwood` and exits with one of the codes in `exit_codes`."""
    match sys.argv[1:]:
        case ["hook", name] if not name.startswith("-"):  # fast, and never fails
            from sapwood.hooks.runner import main as run_hook

            os._exit(run_hook(name))  # skips clean-up, which takes time and has nothing to do
        case args:
            gc.set_threshold(_OBJECTS_A_COLLECTION)
            from sapwood.cli.entry import run

            _exit(run(args))


def _exit(code: int) -> NoReturn:
    """Ends the process at once: Python would delete every object first, which takes up to a second.

    Threads that do not end are left. The engine's threads try to reach a database that is away
    again and again, and Python would wait for them. Their work is in the database; another process
    takes it up.
    """
    if _threads_end():
        atexit._run_exitfuncs()  # pyright: ignore[reportPrivateUsage] - no public name runs them
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


def _threads_end() -> bool:
    """Waits for the other threads; returns whether all have ended in time."""
    deadline = time.monotonic() + _GRACE
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join(max(0.0, deadline - time.monotonic()))
            if thread.is_alive():
                return False
    return True
