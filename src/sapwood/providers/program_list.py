"""The providers by the name of their program. Nothing of a provider is imported before its use."""

import os
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import cast

from sapwood.core.executor import PROGRAMS, ProgramExecutor
from sapwood.core.model_calls import Failure
from sapwood.runtime.agent_provider import AgentProvider, ProgramInfo

_CLASSES = {
    "claude-code": ("sapwood.providers.claude_code", "ClaudeCodeProvider"),
    "codex": ("sapwood.providers.codex", "CodexProvider"),
}


def make_provider(
    program: str, data: Path | None = None, environ: Mapping[str, str] = os.environ
) -> AgentProvider:
    """The provider of a program; it starts nothing yet. `data` is where it keeps private copies.

    Raises `Failure` for a program that no provider knows.
    """
    found = _CLASSES.get(program)
    if found is None:
        raise Failure("no_model", f"Sapwood cannot run '{program}'.")
    module, name = found
    try:
        provider = getattr(import_module(module), name)
    except ImportError as error:
        title = PROGRAMS[program].title
        raise Failure(
            "no_model", f"This version of Sapwood cannot run {title}: {error}."
        ) from error
    return cast("AgentProvider", provider(data, environ))


def installed_program(program: str, environ: Mapping[str, str] = os.environ) -> ProgramInfo | None:
    """The installed program; None if there is none. May start it once to ask for its version."""
    try:
        return make_provider(program, environ=environ).find()
    except Failure:
        return None


def ready_programs(environ: Mapping[str, str] = os.environ) -> list[str]:
    """The programs that are installed and logged in, as far as that can be known."""
    found = {name: installed_program(name, environ) for name in PROGRAMS}
    return [name for name, info in found.items() if info and info.logged_in is not False]


def require_program(
    executor: ProgramExecutor, environ: Mapping[str, str] = os.environ
) -> ProgramInfo:
    """Returns the installed program.

    Raises `Failure` with what to type if it is not installed or nobody is logged in.
    """
    program = PROGRAMS[executor.program]
    info = installed_program(executor.program, environ)
    if info is None:
        raise Failure(
            "no_model", f"{program.title} is not installed. Install it with: {program.install}"
        )
    if info.logged_in is False:
        raise Failure("no_key", f"{program.title} is not logged in. Log in with: {program.log_in}")
    return info
