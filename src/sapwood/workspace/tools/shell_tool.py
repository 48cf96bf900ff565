"""`shell`: runs a command line until it ends or times out, and reports its output and status."""

import asyncio
import errno
import os
import re
import shutil
import signal
import sys
from collections.abc import Callable, Collection, Mapping, Sequence

from msgspec import Struct

from sapwood.workspace import process_reaper
from sapwood.workspace.confinement import Confinement, Need
from sapwood.workspace.programs import ProgramResult, run_program
from sapwood.workspace.safe_paths import ResolvedPath, is_folder
from sapwood.workspace.sandbox import TenantSandbox
from sapwood.workspace.thread_context import in_threads
from sapwood.workspace.tool_output import MAX_RESULT_BYTES, ToolError

_NO_NETWORK = re.compile(
    "|".join(
        (
            *map(os.strerror, (errno.ENETUNREACH, errno.ECONNREFUSED)),
            "ENETUNREACH|ECONNREFUSED|EAI_AGAIN|ENOTFOUND|(?:Failed|unable|n't) (?:to )?connect",
            "resolve (?:host|address|hostname|proxy)|name resolution|lookup address|dns error",
            "Name or service not known|nodename nor servname|no such host|resolving ",
        )
    ),
    re.IGNORECASE,
)
_READ_ONLY = re.compile(f"{os.strerror(errno.EROFS)}|EROFS|{os.strerror(errno.EBUSY)}")
_HINT = (
    "A command in the sandbox {}. If this one needs more, call shell again with "
    'needs: ["{}"]; the user is asked.'
)


class ShellResult(Struct, frozen=True):
    """The output with the exit status, whether the command failed, and the status in words."""

    text: str
    failed: bool
    status: str = ""


async def run_shell(
    command: str,
    place: ResolvedPath,
    seconds: float,
    environment: Mapping[str, str],
    sandbox: Confinement | TenantSandbox | None = None,
    needs: Collection[Need] = (),
    *,
    max_bytes: int = MAX_RESULT_BYTES,
    on_output: Callable[[bytes], None] | None = None,
) -> ShellResult:
    """Runs a command line in a folder, in the sandbox if one is given.

    `needs` is what the sandbox has to open for it. Outside the sandbox, at most `max_bytes` of
    output are kept. `on_output` gets the output as it comes. Raises `ToolError` if it cannot be
    started.
    """
    if not await asyncio.to_thread(is_folder, place):
        raise ToolError(f"{place.shown} is not a folder. Give one as cwd.")
    shell = shutil.which("bash") or "/bin/sh"
    arguments = [shell, "-c", command]
    if isinstance(sandbox, TenantSandbox):
        confined = await asyncio.to_thread(sandbox.command, arguments, place.root, place.real)
        return _ended(await _run(confined, place, seconds, environment), seconds)
    if sandbox is not None:
        return await _run_confined(
            sandbox, arguments, place, seconds, environment, needs, on_output
        )
    if sys.platform == "linux" and sys.executable:
        arguments = [sys.executable, "-I", "-S", process_reaper.__file__, *arguments]
    result = await _run(arguments, place, seconds, environment, (), max_bytes, on_output)
    return _ended(result, seconds)


def _ended(result: ProgramResult, seconds: float, notes: Sequence[str] = ()) -> ShellResult:
    lines = [_text(result, seconds), *(f"[{note}]" for note in notes)]
    return ShellResult("\n".join(lines), result.status != 0, _status(result, seconds))


async def _run_confined(
    sandbox: Confinement,
    arguments: Sequence[str],
    place: ResolvedPath,
    seconds: float,
    environment: Mapping[str, str],
    needs: Collection[Need],
    on_output: Callable[[bytes], None] | None,
) -> ShellResult:
    async with in_threads(sandbox.confined(arguments, place, needs)) as confined:
        command = confined.command
        # Bubblewrap enters the folder itself, by what was opened and not by its path.
        result = await _run(
            command.arguments,
            place,
            seconds,
            environment,
            command.handles,
            on_output=on_output,
        )
    notes = [*confined.notes, *sandbox_hints(result, sandbox.has_network(needs))]
    return _ended(result, seconds, notes)


async def _run(
    arguments: Sequence[str],
    place: ResolvedPath,
    seconds: float,
    environment: Mapping[str, str],
    handles: Collection[int] = (),
    max_bytes: int = MAX_RESULT_BYTES,
    on_output: Callable[[bytes], None] | None = None,
) -> ProgramResult:
    try:
        return await run_program(
            arguments,
            folder=place.real,
            environment=environment,
            seconds=seconds,
            merge_stderr=True,
            handles=handles,
            max_bytes=max_bytes,
            on_output=on_output,
        )
    except OSError as error:
        raise ToolError(f"The shell could not be started: {error.strerror}.") from error


def sandbox_hints(result: ProgramResult, has_network: bool) -> list[str]:
    """How to ask for more, if a command seems to have failed because of the sandbox."""
    if not result.status:
        return []
    hints: list[str] = []
    if not has_network and _NO_NETWORK.search(result.output):
        hints.append(_HINT.format("has no network", "network"))
    if _READ_ONLY.search(result.output):
        hints.append(
            _HINT.format("writes only in the workspace, and no protected files", "protected")
            + ' To write elsewhere, use "outside".'
        )
    return hints


def _text(result: ProgramResult, seconds: float) -> str:
    output = result.output
    end = "" if output.endswith("\n") or not output else "\n"
    return f"{output}{end}[{_status(result, seconds)}]"


def _status(result: ProgramResult, seconds: float) -> str:
    if result.status is None:
        return f"stopped after {seconds:g} seconds; a longer timeout can be given"
    if result.status < 0:
        try:
            return f"ended by {signal.Signals(-result.status).name}"
        except ValueError:
            return f"ended by signal {-result.status}"
    return f"exit status {result.status}" + ("" if result.output else ", no output")
