"""Names a process so that it can be recognized later, and tells whether it still runs."""

import os
from contextlib import suppress
from typing import Literal

ProcessState = Literal["running", "ended", "unknown"]


def process_identity() -> str:
    """The name of this process: its id, its start, and the start of the machine.

    >>> process_state(process_identity()), process_state("x")
    ('running', 'unknown')
    """
    return f"{os.getpid()}-{_started(os.getpid())}-{_boot()}"


def process_state(identity: str) -> ProcessState:
    """Whether the process runs; `unknown` if it is one of another machine or of another start."""
    pid, _, rest = identity.partition("-")
    start, _, boot = rest.partition("-")
    if not pid.isdigit() or boot != _boot():
        return "unknown"
    return "running" if start == _started(int(pid)) else "ended"


def _started(pid: int) -> str:
    """When a process started; '' if there is none. Without `/proc`, only whether there is one."""
    if not os.path.isdir("/proc/self"):
        with suppress(OSError):
            os.kill(pid, 0)
            return "alive"
        return ""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            # The name of the program, in brackets, may contain anything.
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] == b"Z" else fields[19].decode()


def _boot() -> str:
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return os.uname().nodename
