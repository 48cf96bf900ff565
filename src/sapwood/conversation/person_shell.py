"""Shell commands that a person typed, with the rights of this process, and background ones."""

import asyncio
import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from sapwood.core.settings import Workspace
from sapwood.core.state import Job
from sapwood.workspace.process_identity import process_state

if TYPE_CHECKING:
    from sapwood.workspace.tools.shell_tool import ShellResult

_MAX_SECONDS = 86_400.0
_MAX_BYTES = 30_000
"""Bytes of output that are kept: a part of them is sent to the model."""


async def run_in_workspace(
    workspace: Workspace, command: str, on_output: Callable[[bytes], None] | None = None
) -> "ShellResult":
    """Runs a shell command in the workspace, without the sandbox. Raises `ToolError`.

    `on_output` gets the output as it comes.
    """
    from sapwood.workspace.safe_paths import ResolvedPath, root_of
    from sapwood.workspace.tools.shell_tool import run_shell

    if not (workspace.worktree or workspace.folder):  # an agent without one: where Sapwood runs
        workspace = Workspace(folder=os.getcwd())
    root = await asyncio.to_thread(root_of, workspace)
    place = ResolvedPath(root, root, ".")
    return await run_shell(
        command, place, _MAX_SECONDS, os.environ, max_bytes=_MAX_BYTES, on_output=on_output
    )


def job_status(job: Job) -> str:
    """What became of a background command, also if its process was killed."""
    if job.result:
        return job.result
    match process_state(job.holder):
        case "running":
            return "running"
        case "ended":
            return "ended when Sapwood stopped"
        case "unknown":
            return "unknown: started on another machine, or before a restart"
