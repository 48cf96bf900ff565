"""Runs a program until it ends, times out or is cancelled, and ends all processes it started.

The program gets a process group of its own, and a mark in its environment that its children
inherit. So even a child that left the group is found and killed (on Linux, where the environment
of a process can be read).
"""

import asyncio
import os
import secrets
import signal
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import cast

from msgspec import Struct

from sapwood.workspace.tool_output import MAX_RESULT_BYTES, BoundedOutput

CALL_MARK = "SAPWOOD_CALL"
_GRACE = 2.0
"""Seconds between SIGTERM and SIGKILL."""
_DRAIN = 0.5
"""Seconds in which children may still write after the program has ended."""
_KILL_WAIT = 5.0
"""Seconds to wait for a process after SIGKILL."""
_KILL_ROUNDS = 500
_KILL_PAUSE = 0.01


class ProgramResult(Struct, frozen=True):
    """What a program wrote, and its exit status: negative for a signal, None for a timeout."""

    output: str
    errors: str
    status: int | None


async def run_program(
    arguments: Sequence[str],
    *,
    folder: str,
    environment: Mapping[str, str],
    seconds: float,
    stdin: bytes | None = None,
    merge_stderr: bool = False,
    max_bytes: int = MAX_RESULT_BYTES,
    handles: Collection[int] = (),
    on_output: Callable[[bytes], None] | None = None,
) -> ProgramResult:
    """Runs a program in `folder` for at most `seconds`.

    `stdin` is its input; without it there is none. `merge_stderr` puts errors into the output.
    `max_bytes` limits the bytes of output that are kept. `handles` are descriptors that the program
    gets. `on_output` gets the output as it comes. Raises `OSError` if the program cannot be
    started. When this is cancelled, the program is ended first.
    """
    mark = secrets.token_hex(16)
    starting = asyncio.get_running_loop().subprocess_exec(
        lambda: _Child(max_bytes, on_output),
        *arguments,
        stdin=asyncio.subprocess.DEVNULL if stdin is None else asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT if merge_stderr else asyncio.subprocess.PIPE,
        cwd=folder,
        env={**environment, CALL_MARK: mark},
        start_new_session=True,
        pass_fds=tuple(handles),
    )
    transport, child = await _started(asyncio.ensure_future(starting), mark)
    try:
        if stdin is not None:
            _write_stdin(transport, stdin)
        in_time = await _wait(seconds, child.exited)
        if in_time:
            await _wait(_DRAIN, child.drained)
    finally:
        try:
            await _end_program(transport.get_pid(), child, mark)
        finally:
            transport.close()
    status = transport.get_returncode() if in_time else None
    return ProgramResult(child.output.text(), child.errors.text(), status)


_Started = tuple[asyncio.SubprocessTransport, "_Child"]


async def _started(starting: asyncio.Future[_Started], mark: str) -> _Started:
    """Waits until the program runs, even if cancelled: it cannot be ended while it starts."""
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        starting.add_done_callback(partial(_abandon, mark))
        await _to_its_end(_end_started(starting, mark))
        raise


async def _end_started(starting: asyncio.Future[_Started], mark: str) -> None:
    await asyncio.wait({starting})
    await _end_all_marked(mark)
    if not starting.cancelled() and not starting.exception():
        await _wait(_KILL_WAIT, starting.result()[1].exited)


def _abandon(mark: str, starting: asyncio.Future[_Started]) -> None:
    if starting.cancelled() or starting.exception():
        return
    transport, child = starting.result()
    _signal(transport.get_pid(), signal.SIGKILL)
    _end_marked(mark)
    child.close_at_exit(transport)


class _Child(asyncio.SubprocessProtocol):
    """Collects what the program writes, and notices its end."""

    def __init__(self, max_bytes: int, on_output: Callable[[bytes], None] | None) -> None:
        self._on_output = on_output
        self.output = BoundedOutput(max_bytes)
        self.errors = BoundedOutput(max_bytes // 10)
        self.exited = asyncio.Event()
        self.drained = asyncio.Event()
        self._open = {1, 2}
        self._closing: asyncio.SubprocessTransport | None = None

    def close_at_exit(self, transport: asyncio.SubprocessTransport) -> None:
        """Closes the transport when the program ends; earlier, its exit status would be lost."""
        self._closing = transport
        if self.exited.is_set():
            transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        pipes = cast(asyncio.SubprocessTransport, transport)
        self._open = {fd for fd in (1, 2) if pipes.get_pipe_transport(fd) is not None}

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        (self.output if fd == 1 else self.errors).add(data)
        if fd == 1 and self._on_output is not None:
            self._on_output(data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        self._open.discard(fd)
        if not self._open:
            self.drained.set()

    def process_exited(self) -> None:
        self.exited.set()
        if self._closing is not None:
            self._closing.close()


def _write_stdin(transport: asyncio.SubprocessTransport, stdin: bytes) -> None:
    pipe = cast(asyncio.WriteTransport, transport.get_pipe_transport(0))
    pipe.write(stdin)
    pipe.close()


async def _end_program(group: int, child: _Child, mark: str) -> None:
    """Ends all processes: SIGTERM first if the program still runs, then SIGKILL."""
    try:
        if not child.exited.is_set():
            _signal(group, signal.SIGTERM)
            await _wait(_GRACE, child.exited)
    finally:  # also when this is cancelled once more
        await _to_its_end(_kill_program(group, child, mark))
    await _wait(_DRAIN, child.drained)


async def _kill_program(group: int, child: _Child, mark: str) -> None:
    _signal(group, signal.SIGKILL)
    _end_marked(mark)
    await _wait(_KILL_WAIT, child.exited)
    await _end_all_marked(mark)


async def _to_its_end(work: Coroutine[None, None, None]) -> None:
    """Waits until the work is done. If the caller is cancelled meanwhile, raises that after it."""
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled


async def _wait(seconds: float, event: asyncio.Event) -> bool:
    """Waits up to `seconds`; returns whether the event happened."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
    return event.is_set()


def _signal(group: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def _end_marked(mark: str) -> bool:
    """Kills every process with the mark; returns whether there were any."""
    found = _marked_processes(f"{CALL_MARK}={mark}".encode())
    for pid in found:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
    return bool(found)


async def _end_all_marked(mark: str) -> None:
    """Kills processes with the mark until none is left, as they may have started others."""
    for _ in range(_KILL_ROUNDS):
        if not _end_marked(mark):
            break
        await asyncio.sleep(_KILL_PAUSE)


def _marked_processes(entry: bytes) -> list[int]:
    try:
        pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return []
    return [pid for pid in pids if pid != os.getpid() and entry in _environment(pid)]


def _environment(pid: int) -> list[bytes]:
    """The environment of a process at its start; empty if it ended or belongs to another user."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return file.read().split(b"\0")
    except OSError:
        return []


_MODEL_PREFIXES = ("SAPWOOD_", "ANTHROPIC_", "OPENAI_", "GEMINI_", "GOOGLE_GENAI_", "AZURE_OPENAI_")
_KEY_SUFFIXES = ("_API_KEY", "_API_TOKEN", "_AUTH_TOKEN", "_API_SECRET")
_SHELL_STARTUP = ("BASH_ENV", "ENV", "CDPATH")
"""Variables that name a file which a shell runs before the command, or change what `cd` means."""
_NON_INTERACTIVE = {
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "NO_COLOR": "1",
    "PAGER": "cat",
    "TERM": "dumb",
}
"""No program may wait for a key press, and colours are noise to a model."""
_SAFE_GIT = {
    # Files that a model wrote must not become a repository that runs programs.
    "safe.bareRepository": "explicit",
    "core.fsmonitor": "false",
    # The sandbox keeps git from writing these lists, which only plain HTTP servers read.
    "repack.updateServerInfo": "false",
}


def environment_for_tools(
    environment: Mapping[str, str], secrets: Collection[str] = ()
) -> dict[str, str]:
    """The environment for programs that a model starts: the user's, without API keys of models.

    A model must not be able to print the key it is called with. Variables whose value is one of
    `secrets` are left out too. Other secrets of the user stay, because the user's own programs need
    them; they are masked in the output.


    >>> environment_for_tools({"HOME": "/h", "OPENAI_API_KEY": "k"})["HOME"]
    '/h'
    >>> "OPENAI_API_KEY" in environment_for_tools({"OPENAI_API_KEY": "k"})
    False
    """
    secret_values = set(secrets)
    kept = {
        name: value
        for name, value in environment.items()
        if not _is_withheld(name.upper()) and value not in secret_values
    }
    return kept | _NON_INTERACTIVE | _git_settings(kept)


def _git_settings(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that add settings of git to those that the environment has already."""
    present = environment.get("GIT_CONFIG_COUNT", "")
    first = int(present) if present.isascii() and present.isdigit() and len(present) < 5 else 0
    settings = {"GIT_CONFIG_COUNT": str(first + len(_SAFE_GIT))}
    for number, (name, value) in enumerate(_SAFE_GIT.items(), first):
        settings[f"GIT_CONFIG_KEY_{number}"] = name
        settings[f"GIT_CONFIG_VALUE_{number}"] = value
    return settings


def _is_withheld(name: str) -> bool:
    return (
        name.startswith(_MODEL_PREFIXES)
        or name.endswith(_KEY_SUFFIXES)
        or name in _SHELL_STARTUP
        or name.startswith("BASH_FUNC_")
    )
