"""The handler of `/shell`, which people type as `!COMMAND`."""

import asyncio

from sapwood.conversation.answers import Changed
from sapwood.conversation.call import Call
from sapwood.conversation.person_shell import run_in_workspace
from sapwood.conversation.script import PRIVATE
from sapwood.core.commands import RecordShell
from sapwood.core.errors import RefusedError
from sapwood.core.refusals import ShellNotHere
from sapwood.workspace.tool_output import ToolError


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
