"""Names that nobody else has."""

import os
import socket
import uuid

__all__ = ["new_drive", "new_worker"]


def new_drive() -> str:
    """For a drive."""
    return uuid.uuid4().hex


def new_worker() -> str:
    """For a worker: where it runs, for people, and something unique."""
    return f"{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:12]}"
