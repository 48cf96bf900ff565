"""The command line `sapwood`.

Imports only what the given command needs.
"""

import os
import sys
import threading
import time
from contextlib import suppress
from typing import NoReturn

__all__ = ["main"]

_GRACE = 3.0
"""Seconds that threads have to end by themselves after a command."""


def main() -> None:
    """Runs `sapwood` and exits with one of the codes in `exit_codes`."""
    match sys.argv[1:]:
        case ["hook", name] if not name.startswith("-"):  # fast, and never fails
            from sapwood.hooks.runner import main as run_hook

            os._exit(run_hook(name))  # skips clean-up, which takes time and has nothing to do
        case args:
            from sapwood.cli.entry import run

            _exit(run(args))


def _exit(code: int) -> NoReturn:
    """Ends the process, also if threads are left.

    The engine's threads try to reach a database that is away again and again, and Python would wait
    for them. Their work is in the database; another process takes it up.
    """
    deadline = time.monotonic() + _GRACE
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join(max(0.0, deadline - time.monotonic()))
            if thread.is_alive():
                for stream in (sys.stdout, sys.stderr):
                    with suppress(OSError, ValueError):
                        stream.flush()
                os._exit(code)
    sys.exit(code)
