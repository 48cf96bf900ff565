"""How much slower this machine is than the one that limits in milliseconds were set for.

Machines differ, and the same one is slower at times. A benchmark starts a bare Python between its
measurements and compares the processor time of these starts with the usual one.
"""

import os
import statistics
import sys
from collections.abc import Mapping, Sequence

USUAL_START_MS = 12.0
"""The processor time of a start of Python on the machine that the limits were set for."""


def slowness_by(starts: Sequence[float]) -> float:
    """How many times slower than usual Python started, at least 1."""
    return max(1.0, statistics.median(starts) / USUAL_START_MS)


def python_start_ms() -> float:
    """Processor time of one start of Python, in milliseconds."""
    return cpu_ms([sys.executable, "-c", "pass"], b"", os.environ)


def cpu_ms(command: list[str], content: bytes, environ: Mapping[str, str]) -> float:
    """Processor time of one run, in milliseconds."""
    reading, writing = os.pipe()
    silence = os.open(os.devnull, os.O_RDWR)
    child = os.posix_spawn(
        command[0],
        command,
        dict(environ),
        file_actions=[
            (os.POSIX_SPAWN_DUP2, reading, 0),
            (os.POSIX_SPAWN_DUP2, silence, 1),
            (os.POSIX_SPAWN_DUP2, silence, 2),
        ],
    )
    os.write(writing, content)
    for handle in (reading, writing, silence):
        os.close(handle)
    _, status, usage = os.wait4(child, 0)
    if status:
        raise RuntimeError(f"{' '.join(command)} ended with {status}")
    return (usage.ru_utime + usage.ru_stime) * 1000
