"""The handler of `/shell`, which people type as `!COMMAND`."""

import asyncio
import os
from typing import TYPE_CHECKING

from sapwood.conversation.answers import Changed
from sapwood.conversation.call import Call
from sapwood.conversation.script import PRIVATE
from sapwood.core.commands import RecordShell
from sapwood.core.errors import RefusedError
from sapwood.core.refusals import ShellNotHere
from sapwood.core.settings import Workspace
from sapwood.workspace.tool_output import ToolError

if TYPE_CHECKING:
    from sapwood.workspace.tools.shell_tool import ShellResult

_MAX_SECONDS = 86_400.0
_MAX_BYTES = 30_000
"""Bytes of output that are kept: a part of them is sent to the model."""


async def shell(call: Call) -> Changed:
    """Runs a shell command of a person in the workspace, with all rights of this process.

    The output is recorded, and put into the next prompt unless it is private. If the call is
    cancelled, the command is ended first, and that is recorded. Raises `RefusedError`.
    """
    if not call.services.on_this_machine:
        raise RefusedError(ShellNotHere())
    first, rest = call.first_and_rest
    is_noted = first != PRIVATE
    command = call.run.args if is_noted else rest
    if not command.strip():
        raise call.misused("Which command?")
    workspace = call.services.workspace_of((await call.opened()).state)
    try:
        result = await run_in_workspace(workspace, command)
    except ToolError as error:
        raise call.misused(str(error).removesuffix(" Tell the user.")) from error
    except asyncio.CancelledError:
        stopped = RecordShell(call.agent, command, "[stopped by the user]", True, is_noted)
        await asyncio.shield(call.give(stopped))
        raise
    record = RecordShell(call.agent, command, result.text, result.failed, is_noted)
    done = await call.give(record)
    return Changed(call.agent, done.message, done.events)


async def run_in_workspace(workspace: Workspace, command: str) -> "ShellResult":
    """Runs a shell command with all rights of this process. Raises `ToolError`."""
    from sapwood.workspace.safe_paths import ResolvedPath, root_of
    from sapwood.workspace.tools.shell_tool import run_shell

    if not (workspace.worktree or workspace.folder):  # an agent without one: where Sapwood runs
        workspace = Workspace(folder=os.getcwd())
    root = await asyncio.to_thread(root_of, workspace)
    place = ResolvedPath(root, root, ".")
    return await run_shell(command, place, _MAX_SECONDS, os.environ, max_bytes=_MAX_BYTES)
