"""The handlers of `/shell`, which people type as `!COMMAND`, and of `/jobs`."""

import asyncio
from functools import partial

from sapwood.conversation.answers import Changed, JobShown
from sapwood.conversation.call import Call
from sapwood.conversation.person_shell import job_status, run_in_workspace
from sapwood.conversation.script import PRIVATE
from sapwood.core.commands import EndJob, RecordShell
from sapwood.core.errors import RefusedError
from sapwood.core.refusals import JobNotRunning, ShellNotHere
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
    show, on_output = call.services.show_shell, None
    if show is not None:
        on_output = partial(show, call.agent, command)
        on_output(b"")
    try:
        result = await run_in_workspace(workspace, command, on_output)
    except ToolError as error:
        raise call.misused(str(error).removesuffix(" Tell the user.")) from error
    except asyncio.CancelledError:
        stopped = RecordShell(call.agent, command, "[stopped by the user]", True, is_noted)
        await asyncio.shield(call.give(stopped))
        raise
    record = RecordShell(call.agent, command, result.text, result.failed, is_noted)
    return await call.changed(record)


async def jobs(call: Call) -> Changed | JobShown:
    """Lists the background commands, shows one with its output, or has one ended."""
    first, rest = call.first_and_rest
    word = rest if first == "end" else call.run.args
    number = int(word) if word.isascii() and word.isdigit() else 0
    if call.run.args and not number:
        raise call.misused("Which job?")
    if first == "end":
        return await call.changed(EndJob(call.agent, number, "ended by the user"))
    found = (await call.opened()).state.jobs
    if not number:
        lines = [f"{each.job}  {job_status(each)}  {each.line}" for each in found]
        return Changed(call.agent, "\n".join(lines) or "There are no background commands.")
    job = next((each for each in found if each.job == number), None)
    if job is None:
        raise RefusedError(JobNotRunning(number))
    output = job.output
    if not job.result and call.services.job_output is not None:
        output = call.space.masked(call.services.job_output(call.agent, number))
    return JobShown(call.agent, number, job.line, output, job_status(job))
