"""Commands in the background: they outlive their turn, and end with their process at the latest."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from msgspec import Struct, structs

from sapwood.api import Agent, Sapwood
from sapwood.app.agent_runner import AgentRunner
from sapwood.app.connection import connect
from sapwood.app.job_log import AgentJobLog
from sapwood.conversation.service import ConversationService
from sapwood.core.content import ToolCall
from sapwood.core.events import JobEnded, JobStarted, ToolFinished, TurnCompleted
from sapwood.core.view import Request
from sapwood.engine import LocalEngine
from sapwood.testing import FakeModel
from sapwood.workspace.background_jobs import BackgroundJobs
from sapwood.workspace.permissions.permission_gate import PermissionGate
from sapwood.workspace.permissions.permission_rules import parse_rules
from sapwood.workspace.workspace_toolbox import WorkspaceToolbox
from tests.workspace.tool_calls import is_running, until

_LINE = "echo ready $$; read -t 600 < <(sleep 600)"
_START = ToolCall("c1", "shell", f'{{"command": "{_LINE}", "background": true}}')


def _says(request: Request, heard: str) -> list[ToolCall] | str:
    calls = {
        "Serve.": _START,
        "List.": ToolCall("c2", "jobs", "{}"),
        "Read.": ToolCall("c3", "jobs", '{"job": 1}'),
        "End.": ToolCall("c4", "jobs", '{"job": 1, "end": true}'),
    }
    return [calls[heard]] if heard in calls else "Done."


class Process(Struct):
    """A process that drives an agent with background commands."""

    agent: Agent
    runner: AgentRunner
    jobs: BackgroundJobs

    async def result(self, prompt: str) -> str:
        """The result of the tool call of a turn that has ended."""
        before = (await self.agent.state()).version
        await self.agent.run_command(prompt)
        await self.runner.wake(self.agent.id)
        found = ""
        async for recorded in self.agent.follow(before):
            if isinstance(recorded.event, ToolFinished):
                found = recorded.event.content
            if isinstance(recorded.event, TurnCompleted):
                return found
        raise AssertionError

    async def pid(self) -> int:
        """The process of the command, once it has printed it."""
        job = self.jobs._job(self.agent.id, 1)  # pyright: ignore[reportPrivateUsage] # no event
        await until(lambda: "ready" in job.tail)
        return int(job.tail.split()[1])


@asynccontextmanager
async def process(folder: Path) -> AsyncGenerator[Process]:
    connection = await connect(folder / "a.db")
    jobs = BackgroundJobs(AgentJobLog(connection))
    tools = WorkspaceToolbox(PermissionGate(parse_rules(["allow *"])), jobs=jobs)
    runner = AgentRunner(connection, LocalEngine(), FakeModel(_says), tools)
    try:
        await runner.start()
        agent = await Sapwood(connection).start("demo", model="m", folder=str(folder))
        async with asyncio.timeout(60):
            yield Process(agent, runner, jobs)
        await runner.close()
    finally:
        await connection.close()


async def _said(agent: Agent, line: str) -> str:
    [answer] = await agent.run_command(line)
    return answer.message


async def test_a_command_outlives_its_turn_and_is_listed_read_and_ended(tmp_path: Path) -> None:
    async with process(tmp_path) as at:
        assert "Job 1 runs in the background" in await at.result("Serve.")
        pid = await at.pid()
        assert await at.result("List.") == f"1  running  {_LINE}"
        assert await _said(at.agent, "/jobs") == f"1  running  {_LINE}"
        services = structs.replace(at.agent.service.services, job_output=at.jobs.tail)
        [shown] = await ConversationService(services).submit(at.agent.id, "/jobs 1")
        assert shown.message == f"{_LINE}\nready {pid}\n[running]"
        assert await at.result("Read.") == f"ready {pid}\n\n[running]"
        assert await at.result("Read.") == "[running]", "only what is new"
        assert is_running(pid)
        assert await at.result("End.") == "[ended by the model]"
        assert not is_running(pid)
        assert await _said(at.agent, "/jobs 1") == f"{_LINE}\nready {pid}\n[ended by the model]"
        assert "No job 1 is running" in await _said(at.agent, "/jobs end 1")


async def test_a_person_ends_it_and_the_next_one_ends_with_the_process(tmp_path: Path) -> None:
    async with process(tmp_path) as at:
        await at.result("Serve.")
        pid = await at.pid()
        assert await _said(at.agent, "/jobs end 1") == "Job 1 is being ended."
        await until(lambda: not is_running(pid))
        await at.result("Serve.")
        events = [each.event for each in await at.agent.events()]
        assert [each.job for each in events if isinstance(each, JobStarted)] == [1, 2]
        agent = at.agent.id
    connection = await connect(tmp_path / "a.db")
    try:
        state = (await connection.dispatcher.open(agent)).state
    finally:
        await connection.close()
    assert [each.result for each in state.jobs] == [
        "ended by the user",
        "ended when Sapwood stopped",
    ]


_KILLED = """
import asyncio, sys
from pathlib import Path
from tests.app.test_background_jobs import process

async def main():
    async with process(Path(sys.argv[1])) as at:
        await at.result("Serve.")
        print(await at.pid(), flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""


@pytest.mark.night
async def test_after_a_kill_nothing_runs_on_and_the_list_says_so(tmp_path: Path) -> None:
    killed = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", _KILLED, str(tmp_path)), stdout=asyncio.subprocess.PIPE
    )
    assert killed.stdout is not None
    pid = int(await killed.stdout.readline())
    os.kill(killed.pid, signal.SIGKILL)
    await killed.wait()
    await until(lambda: not is_running(pid))
    connection = await connect(tmp_path / "a.db")
    try:
        agent = await Sapwood(connection).find("demo")
        assert await _said(agent, "/jobs") == f"1  ended when Sapwood stopped  {_LINE}"
        events = [each.event for each in await agent.events()]
        assert sum(isinstance(each, JobStarted) for each in events) == 1
        assert not any(isinstance(each, JobEnded) for each in events)
    finally:
        await connection.close()
