"""`shell`: a command line, run to its end or its time-out, with what it wrote and how it ended."""

import asyncio
import shutil
import signal
from collections.abc import Mapping

from msgspec import Struct

from sapwood.workspace.errors import ToolError
from sapwood.workspace.places import Place, folder_of
from sapwood.workspace.processes import Ended, run_program

__all__ = ["ShellResult", "run_shell"]


class ShellResult(Struct, frozen=True):
    """What is told, and whether the command failed."""

    text: str
    failed: bool


async def run_shell(
    command: str, place: Place, seconds: float, environment: Mapping[str, str]
) -> ShellResult:
    """Runs a command line in a folder."""
    if "\0" in command:
        raise ToolError("The command holds a null character. Send it without.")
    if not await asyncio.to_thread(folder_of, place):
        raise ToolError(f"{place.shown} is not a folder. Give one as cwd.")
    shell = shutil.which("bash") or "/bin/sh"
    try:
        ended = await run_program(
            [shell, "-c", command],
            folder=place.real,
            environment=environment,
            seconds=seconds,
            joined=True,
        )
    except OSError as error:
        raise ToolError(f"The shell could not be started: {error.strerror}.") from error
    output = (
        ended.output if ended.output.endswith("\n") or not ended.output else ended.output + "\n"
    )
    return ShellResult(f"{output}[{_how(ended, seconds)}]", ended.status != 0)


def _how(ended: Ended, seconds: float) -> str:
    if ended.status is None:
        return f"stopped after {seconds:g} seconds; a longer timeout can be given"
    if ended.status < 0:
        try:
            return f"ended by {signal.Signals(-ended.status).name}"
        except ValueError:
            return f"ended by signal {-ended.status}"
    return f"exit status {ended.status}" + ("" if ended.output else ", no output")
