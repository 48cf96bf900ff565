"""Running a program to its end, its time-out or our own, and leaving nothing of it behind.

The program leads a process group of its own, and what it starts carries a mark in its environment:
so also a child that left the group is found and ended (on Linux, where environments can be read).
"""

import asyncio
import os
import secrets
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import cast

from msgspec import Struct

from sapwood.workspace.bounds import MOST, Collected

__all__ = ["MARK", "Ended", "run_program"]

MARK = "SAPWOOD_CALL"
_GRACE = 2.0
"""Seconds between asking a program to end and ending it."""
_DRAIN = 0.5
"""Seconds for children that still write after the program itself is done."""
_SURE = 5.0
"""Seconds after which even a process that cannot be ended is given up."""
_LOOKS = 500
_LOOK_AGAIN = 0.01


class Ended(Struct, frozen=True):
    """What a program wrote, and how it ended: below zero by a signal, None by the time-out."""

    output: str
    errors: str
    status: int | None


async def run_program(
    arguments: Sequence[str],
    *,
    folder: str,
    environment: Mapping[str, str],
    seconds: float,
    given: bytes | None = None,
    joined: bool = False,
    most: int = MOST,
) -> Ended:
    """Runs a program with `given` as its input, or none. `joined` puts errors into the output.

    Raises `OSError` if it cannot be started. Cancelling ends it first.
    """
    mark = secrets.token_hex(16)
    starting = asyncio.get_running_loop().subprocess_exec(
        lambda: _Child(most),
        *arguments,
        stdin=asyncio.subprocess.DEVNULL if given is None else asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT if joined else asyncio.subprocess.PIPE,
        cwd=folder,
        env={**environment, MARK: mark},
        start_new_session=True,
    )
    transport, child = await _started(asyncio.ensure_future(starting), mark)
    try:
        if given is not None:
            _feed(transport, given)
        in_time = await _within(seconds, child.exited)
        if in_time:
            await _within(_DRAIN, child.drained)
    finally:
        try:
            await _end(transport.get_pid(), child, mark)
        finally:
            transport.close()
    status = transport.get_returncode() if in_time else None
    return Ended(child.output.text(), child.errors.text(), status)


_Started = tuple[asyncio.SubprocessTransport, "_Child"]


async def _started(starting: asyncio.Future[_Started], mark: str) -> _Started:
    """The program once it runs. Half started it cannot be ended, so cancelling waits for that."""
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        starting.add_done_callback(partial(_abandon, mark))
        await asyncio.wait({starting})
        await _end_all_marked(mark)
        raise


def _abandon(mark: str, starting: asyncio.Future[_Started]) -> None:
    if starting.cancelled() or starting.exception():
        return
    transport, child = starting.result()
    _signal(transport.get_pid(), signal.SIGKILL)
    _end_marked(mark)
    child.close_at_exit(transport)


class _Child(asyncio.SubprocessProtocol):
    """Takes in what the program writes, and notices its end."""

    def __init__(self, most: int) -> None:
        self.output = Collected(most)
        self.errors = Collected(most // 10)
        self.exited = asyncio.Event()
        self.drained = asyncio.Event()
        self._open = {1, 2}
        self._closing: asyncio.SubprocessTransport | None = None

    def close_at_exit(self, transport: asyncio.SubprocessTransport) -> None:
        """Closed earlier, the transport would take the exit status from whoever waits for it."""
        self._closing = transport
        if self.exited.is_set():
            transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        pipes = cast(asyncio.SubprocessTransport, transport)
        self._open = {fd for fd in (1, 2) if pipes.get_pipe_transport(fd) is not None}

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        (self.output if fd == 1 else self.errors).add(data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        self._open.discard(fd)
        if not self._open:
            self.drained.set()

    def process_exited(self) -> None:
        self.exited.set()
        if self._closing is not None:
            self._closing.close()


def _feed(transport: asyncio.SubprocessTransport, given: bytes) -> None:
    pipe = cast(asyncio.WriteTransport, transport.get_pipe_transport(0))
    pipe.write(given)
    pipe.close()


async def _end(group: int, child: _Child, mark: str) -> None:
    """Ends what is left: politely if the program itself still runs, then surely."""
    try:
        if not child.exited.is_set():
            _signal(group, signal.SIGTERM)
            await _within(_GRACE, child.exited)
    finally:  # also when cancelled a second time
        _signal(group, signal.SIGKILL)
        _end_marked(mark)
    await _within(_SURE, child.exited)
    await _end_all_marked(mark)
    await _within(_DRAIN, child.drained)


async def _within(seconds: float, event: asyncio.Event) -> bool:
    """Whether it happened in time."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
    return event.is_set()


def _signal(group: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def _end_marked(mark: str) -> bool:
    """Ends every process that carries the mark, and says whether there were any."""
    found = _carriers(f"{MARK}={mark}".encode())
    for pid in found:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
    return bool(found)


async def _end_all_marked(mark: str) -> None:
    """Until none is left: they die when the system gets to it, and may have had children."""
    for _ in range(_LOOKS):
        if not _end_marked(mark):
            break
        await asyncio.sleep(_LOOK_AGAIN)


def _carriers(entry: bytes) -> list[int]:
    try:
        pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return []
    return [pid for pid in pids if pid != os.getpid() and entry in _environment(pid)]


def _environment(pid: int) -> list[bytes]:
    """The environment a process was started with; nothing once it is dead or another user's."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return file.read().split(b"\0")
    except OSError:
        return []
