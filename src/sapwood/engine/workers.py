"""Workers: their ids, their heartbeats in the database, and how a dead one is recognised.

Each worker raises the count in its own row. A row whose count stands still belongs to a dead
worker, unless the process can be seen to run on this machine. Every worker measures that with its
own clock, so no two clocks are compared.
"""

import hashlib
import os
import socket
import uuid
from functools import cache
from pathlib import Path
from time import monotonic

from msgspec import Struct

_OF_ONE_PROCESS = "p"
"""Begins the last part of the id of a process without DBOS. A random number has no such letter."""


def new_worker_id(*, of_one_process: bool = False) -> str:
    """A unique id that shows where the worker runs.

    Its parts are the host, the machine start, the process number, and a random number with the
    moment at which the process started. `of_one_process` is for the engine without DBOS.
    """
    pid, (_, started) = os.getpid(), _process_status(os.getpid())
    kind = _OF_ONE_PROCESS if of_one_process else ""
    name = f"{kind}{uuid.uuid4().hex[:12]}s{started}"
    return f"{socket.gethostname()}-{_process_namespace()}-{pid}-{name}"


def is_of_one_process(worker: str) -> bool:
    """Whether the worker is a process without DBOS."""
    return worker.rpartition("-")[2].startswith(_OF_ONE_PROCESS)


def process_has_ended(worker: str) -> bool:
    """True if the worker was a process of this machine that no longer exists.

    False proves nothing: the worker may be on another machine, or its process number may be in use
    again.
    """
    *_, namespace, pid, _ = worker.split("-")
    is_here = bool(namespace) and namespace == _process_namespace()
    return is_here and not Path("/proc", pid).exists()


def process_is_running(worker: str) -> bool:
    """True if the worker is a process of this machine that exists and is not stopped.

    Such a worker is only slow when it does not beat: nobody may take its drives, because it may be
    in the middle of a model call. False proves nothing.
    """
    *_, namespace, pid, name = worker.split("-")
    _, _, started = name.partition("s")
    if not started or not namespace or namespace != _process_namespace():
        return False
    state, since = _process_status(int(pid))
    return since == started and state not in ("", "T", "t", "X", "Z")


def _process_status(pid: int) -> tuple[str, str]:
    """The state of a process and the moment of its start; empty if they cannot be read."""
    try:
        fields = Path("/proc", str(pid), "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return "", ""
    return fields[0], fields[19]


@cache
def _process_namespace() -> str:
    """Identifies the process numbers of this machine since its start, or of this container."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        numbers = os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""
    return hashlib.blake2b(f"{boot} {numbers}".encode(), digest_size=6).hexdigest()


class _Sighting(Struct):
    """How often a worker was seen with the same count, and since when."""

    beats: int
    since: float
    times: int = 1


class FailureDetector:
    """Finds dead workers from the counts that it saw at each of its own heartbeats.

    A long time alone is no proof: after a pause of its own process, or of the database, no count
    has moved. So it wants several sightings in a row.
    """

    def __init__(self, dead_after: float, beat: float) -> None:
        self._dead_after = dead_after
        self._times = max(2, round(dead_after / beat) // 2 + 1)
        self._seen: dict[str, _Sighting] = {}
        self._looked = 0.0

    def dead(self, beats: dict[str, int], now: float | None = None) -> dict[str, int]:
        """The workers among `beats` that are dead, each with its last count."""
        now = monotonic() if now is None else now
        if now - self._looked > self._dead_after / 2:
            self.start_over()  # this process itself was paused
        self._looked = now
        self._seen = {worker: self._sighting(worker, count, now) for worker, count in beats.items()}
        return {
            worker: seen.beats
            for worker, seen in self._seen.items()
            if seen.times >= self._times and now - seen.since >= self._dead_after
        }

    def start_over(self) -> None:
        """Forgets all sightings."""
        self._seen.clear()

    def _sighting(self, worker: str, count: int, now: float) -> _Sighting:
        seen = self._seen.get(worker)
        if seen is None or seen.beats != count:
            return _Sighting(count, now)
        seen.times += 1
        return seen
