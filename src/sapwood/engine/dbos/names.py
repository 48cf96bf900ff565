"""Names that nobody else has."""

import hashlib
import os
import socket
import uuid
from functools import cache
from pathlib import Path

__all__ = ["has_ended", "new_drive", "new_worker"]


def new_drive() -> str:
    """For a drive."""
    return uuid.uuid4().hex


def new_worker() -> str:
    """For a worker: where it runs, for people and for its neighbours, and something unique."""
    return f"{socket.gethostname()}-{_here()}-{os.getpid()}-{uuid.uuid4().hex[:12]}"


def has_ended(worker: str) -> bool:
    """Whether a worker was a process of this machine that is no more.

    False says nothing: it may be far away, or its number may be another's by now.
    """
    *_, here, pid, _ = worker.split("-")
    return bool(here) and here == _here() and not Path("/proc", pid).exists()


@cache
def _here() -> str:
    """The space of process numbers we live in: of this machine since its start, or a container."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        numbers = os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""
    return hashlib.blake2b(f"{boot} {numbers}".encode(), digest_size=6).hexdigest()
