"""The programs that are installed on this machine, and their providers."""

import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

from sapwood.core.model_calls import Failure
from sapwood.programs.agent_provider import AgentProvider, ProgramInfo
from sapwood.programs.program import Program
from sapwood.programs.registry import (
    ProgramExecutor,
    program,
    program_title,
    programs_with,
    runs_turns,
)

_VERSION = re.compile(r"\d+\.\d+\.\d+[\w.-]*")
_SECONDS = 20.0


def printed_version(path: str, environ: Mapping[str, str] = os.environ) -> str:
    """The version that a program prints; empty if it prints none. Starts the program."""
    try:
        answer = subprocess.run(
            [path, "--version"],
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    found = _VERSION.search(answer.stdout)
    return found[0] if found else ""


def make_provider(
    name: str, data: Path | None = None, environ: Mapping[str, str] = os.environ
) -> AgentProvider:
    """The provider of a program; it starts nothing yet. `data` is where it keeps private copies.

    Raises `Failure` for a program that no provider knows.
    """
    if not runs_turns(name):
        raise Failure("no_model", f"There is no provider for '{name}'.")
    try:
        return program(name).provider(data, environ)
    except ImportError as error:
        title = program_title(name)
        raise Failure("no_model", f"This Sapwood cannot run {title}: {error}.") from error


def installed_program(name: str, environ: Mapping[str, str] = os.environ) -> ProgramInfo | None:
    """The installed program; None if there is none. May start it once to ask for its version."""
    try:
        return make_provider(name, environ=environ).find()
    except Failure:
        return None


def ready_programs(environ: Mapping[str, str] = os.environ) -> list[str]:
    """The programs that are installed and logged in, as far as that can be known."""
    found = {each.name: installed_program(each.name, environ) for each in programs_with("provider")}
    return [name for name, info in found.items() if info and info.logged_in is not False]


def require_program(
    executor: ProgramExecutor, environ: Mapping[str, str] = os.environ
) -> ProgramInfo:
    """Returns the installed program.

    Raises `Failure` with what to type if it is not installed or nobody is logged in.
    """
    wanted = program(executor.program)
    info = require_found(wanted, installed_program(wanted.name, environ))
    if info.logged_in is False:
        raise Failure("no_key", f"{wanted.title} is not logged in. Log in with: {wanted.log_in}")
    return info


def require_found(wanted: Program, info: ProgramInfo | None) -> ProgramInfo:
    """Returns the information. Raises `Failure` with what to type if there is none."""
    if info is None:
        raise Failure(
            "no_model",
            f"{wanted.title} is not installed. Install it with: {wanted.install}. Or set "
            f"{wanted.executable_variable} to its path.",
        )
    return info
