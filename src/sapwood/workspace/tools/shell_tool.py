"""`shell`: runs a command line until it ends or times out, and reports its output and status."""

import asyncio
import shutil
import signal
import sys
from collections.abc import Mapping

from msgspec import Struct

from sapwood.workspace import process_reaper
from sapwood.workspace.places import Place, is_folder
from sapwood.workspace.programs import ProgramResult, run_program
from sapwood.workspace.sandbox import Sandbox
from sapwood.workspace.tool_output import ToolError

__all__ = ["ShellResult", "run_shell"]


class ShellResult(Struct, frozen=True):
    """The output with the exit status, and whether the command failed."""

    text: str
    failed: bool


async def run_shell(
    command: str,
    place: Place,
    seconds: float,
    environment: Mapping[str, str],
    sandbox: Sandbox | None = None,
) -> ShellResult:
    """Runs a command line in a folder, in the sandbox if one is given.

    Raises `ToolError` if it cannot be started.
    """
    if not await asyncio.to_thread(is_folder, place):
        raise ToolError(f"{place.shown} is not a folder. Give one as cwd.")
    shell = shutil.which("bash") or "/bin/sh"
    arguments = [shell, "-c", command]
    if sandbox is not None:
        arguments = await asyncio.to_thread(sandbox.command, arguments, place.root, place.real)
    elif sys.platform == "linux" and sys.executable:
        arguments = [sys.executable, "-I", "-S", process_reaper.__file__, *arguments]
    try:
        result = await run_program(
            arguments,
            folder=place.real,
            environment=environment,
            seconds=seconds,
            merge_stderr=True,
        )
    except OSError as error:
        raise ToolError(f"The shell could not be started: {error.strerror}.") from error
    output = (
        result.output if result.output.endswith("\n") or not result.output else result.output + "\n"
    )
    return ShellResult(f"{output}[{_status(result, seconds)}]", result.status != 0)


def _status(result: ProgramResult, seconds: float) -> str:
    if result.status is None:
        return f"stopped after {seconds:g} seconds; a longer timeout can be given"
    if result.status < 0:
        try:
            return f"ended by {signal.Signals(-result.status).name}"
        except ValueError:
            return f"ended by signal {-result.status}"
    return f"exit status {result.status}" + ("" if result.output else ", no output")
