"""Runs a program and ends everything that it started. It is run as a script, on Linux.

    python -I -S process_reaper.py PROGRAM [ARGUMENT…]

Processes that lose their parent get this one as their parent, also if they left the session or have
an empty environment. When the program has ended, they have a moment to end too; then they are
killed. If the process that started this one ends, so do the program and all that it started. It
imports nothing of Sapwood, so that it starts fast.
"""

import ctypes
import os
import signal
import sys
import time
from contextlib import suppress

_SET_CHILD_SUBREAPER = 36
_SET_PARENT_DEATH_SIGNAL = 1
_MOMENT = 0.5
"""Seconds in which processes may still write after the program has ended."""
_GRACE = 1.0
"""Seconds between SIGTERM and SIGKILL; less than the caller waits."""
_PAUSE = 0.01
_ended_early: list[bool] = []


def main(arguments: list[str]) -> int:
    """Runs the program and returns its exit status. Ends by the same signal as the program."""
    ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    signal.signal(signal.SIGTERM, _terminate)
    signal.signal(signal.SIGHUP, _orphaned)
    ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGHUP, 0, 0, 0)
    signal.signal(signal.SIGALRM, _give_up)
    program = os.fork()
    if program == 0:
        for number in (
            signal.SIGTERM,
            signal.SIGHUP,
            signal.SIGALRM,
            signal.SIGPIPE,
            signal.SIGXFSZ,
        ):
            signal.signal(number, signal.SIG_DFL)
        try:
            os.execvp(arguments[0], arguments)
        finally:
            os._exit(127)
    status = _wait_for(program)
    _end_children()
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        with suppress(OSError):  # SIGKILL has no handler
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    return os.waitstatus_to_exitcode(status)


def _terminate(*_: object) -> None:
    """The program got the same signal. It has a moment to end."""
    _ended_early.append(True)
    signal.setitimer(signal.ITIMER_REAL, _GRACE)


def _orphaned(*_: object) -> None:
    """The parent has ended, so nobody sends a signal to the program."""
    for child in _children():
        with suppress(ProcessLookupError, PermissionError):
            os.kill(child, signal.SIGTERM)
    _terminate()


def _give_up(*_: object) -> None:
    _kill_children()


def _wait_for(program: int) -> int:
    while True:
        ended, status = os.wait()
        if ended == program:
            return status


def _end_children() -> None:
    """Waits a moment for all other processes, then kills them and what they started."""
    patience = time.monotonic() + (0 if _ended_early else _MOMENT)
    with suppress(ChildProcessError):
        while True:
            ended, _ = os.waitpid(-1, os.WNOHANG)
            if ended == 0:
                if time.monotonic() > patience:
                    _kill_children()
                time.sleep(_PAUSE)


def _kill_children() -> None:
    for child in _children():
        with suppress(ProcessLookupError, PermissionError):
            os.kill(child, signal.SIGKILL)


def _children() -> list[int]:
    found: list[int] = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            with suppress(OSError, IndexError), open(f"/proc/{name}/stat", "rb") as file:
                # The name of the program, in brackets, may contain anything.
                parent = file.read().rpartition(b")")[2].split()[1]
                if int(parent) == os.getpid():
                    found.append(int(name))
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
