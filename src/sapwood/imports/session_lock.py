"""The lock of a session of another program: one process at a time imports it or changes it.

An import reads what the log has, and then the rows of the session. If a command changed both in
between, the import would take the change for something that the program did.
"""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar
from hashlib import blake2b
from pathlib import Path

from sapwood.config.folders import session_locks_folder
from sapwood.core.ids import AgentId, Space
from sapwood.private_files import private_folder, release_lock, try_lock

_SECONDS = 30.0
"""A process that has not finished by then may be stopped, so others no longer wait for it."""
_POLL_SECONDS = 0.02

_held: ContextVar[frozenset[Path]] = ContextVar("_held", default=frozenset())


@asynccontextmanager
async def session_lock(address: str, space: Space, agent: AgentId) -> AsyncGenerator[None]:
    """Holds the lock of the session that an agent has in another program.

    The same task may take it again inside the block. Never raises: without a lock after half a
    minute, or if the disk is full, the block runs without it.
    """
    path = _lock_file(address, space, agent)
    if path in _held.get():
        yield
        return
    handle = await _locked_in_time(path)
    token = _held.set(_held.get() | {path})
    try:
        yield
    finally:
        _held.reset(token)
        if handle is not None:
            release_lock(handle)


def _lock_file(address: str, space: Space, agent: AgentId) -> Path:
    """One of 256 files: any number of sessions leaves only these behind."""
    name = blake2b(f"{address}\0{space}\0{agent}".encode(), digest_size=1).hexdigest()
    return session_locks_folder() / name


async def _locked_in_time(path: Path) -> int | None:
    until = time.monotonic() + _SECONDS
    with suppress(OSError):
        private_folder(path.parent)
        while time.monotonic() < until:
            if (handle := try_lock(path)) is not None:
                return handle
            await asyncio.sleep(_POLL_SECONDS)
    return None
