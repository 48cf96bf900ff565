"""Shell commands that run in the background of a conversation, also after their turn.

They end with the process of Sapwood that runs them, even if that is killed. Their starts and ends
are in the log; what they print is kept in memory until they end.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol

from sapwood.core.ids import AgentId
from sapwood.workspace.tool_output import ToolError
from sapwood.workspace.tools.shell_tool import ShellResult

_KEPT_BYTES = 200_000
_TAIL = 2_000
"""Characters of output that are stored with the end of a command."""

OnOutput = Callable[[bytes], None]
RunJob = Callable[[OnOutput], Awaitable[ShellResult]]


class JobLog(Protocol):
    """Where starts and ends are recorded."""

    async def started(self, agent: AgentId, line: str, call: str) -> int:
        """Records a start and returns the number of the job. Raises `ToolError`."""
        ...

    async def ended(self, agent: AgentId, job: int, result: str, output: str) -> None:
        """Records an end, unless the log has one."""
        ...

    async def wait_for_end(self, agent: AgentId, job: int) -> None:
        """Returns when the log has an end, which somebody else recorded."""
        ...


class _RunningJob:
    """A command, and the end of what it printed."""

    def __init__(self, line: str) -> None:
        self.line = line
        self.result = ""
        self.reason = "ended when Sapwood stopped"
        self.task: asyncio.Task[None] | None = None
        self._kept = bytearray()
        self._printed = 0
        self._read = 0

    def add(self, data: bytes) -> None:
        self._kept += data
        self._printed += len(data)
        del self._kept[: max(0, len(self._kept) - _KEPT_BYTES)]

    def new_output(self) -> str:
        """What was printed since the last call."""
        first = self._printed - len(self._kept)
        missing = max(0, first - self._read)
        text = self._kept[max(0, self._read - first) :].decode(errors="replace")
        self._read = self._printed
        return f"[{missing:,} bytes were dropped]\n{text}" if missing else text

    @property
    def tail(self) -> str:
        return self._kept.decode(errors="replace")[-_TAIL:]


class BackgroundJobs:
    """The background commands that this process runs, by agent and number."""

    def __init__(self, log: JobLog) -> None:
        self._log = log
        self._jobs: dict[tuple[AgentId, int], _RunningJob] = {}

    async def start(self, agent: AgentId, line: str, call: str, run: RunJob) -> int:
        """Records the start, starts the command, and returns its number. Raises `ToolError`."""
        number = await self._log.started(agent, line, call)
        job = self._jobs[agent, number] = _RunningJob(line)
        job.task = asyncio.create_task(self._watch(agent, number, job, run))
        return number

    def listed(self, agent: AgentId) -> str:
        """The commands of an agent, one in each line."""
        own = [(number, job) for (owner, number), job in self._jobs.items() if owner == agent]
        lines = [f"{number}  {job.result or 'running'}  {job.line}" for number, job in own]
        return "\n".join(lines) or "You have no background commands in this process."

    def read(self, agent: AgentId, number: int) -> str:
        """What a command printed since it was last read, and whether it runs."""
        job = self._job(agent, number)
        return f"{job.new_output()}\n[{job.result or 'running'}]".lstrip("\n")

    def tail(self, agent: AgentId, number: int) -> str:
        """The end of what a command has printed; empty if this process does not run it."""
        job = self._jobs.get((agent, number))
        return job.tail if job is not None else ""

    async def end(self, agent: AgentId, number: int) -> str:
        """Ends a command and all that it started; returns the rest of its output."""
        job = self._job(agent, number)
        if job.task is not None and not job.task.done():
            job.reason = "ended by the model"
            job.task.cancel()
            await asyncio.wait({job.task})
        return self.read(agent, number)

    async def close(self) -> None:
        """Ends all commands."""
        tasks = [job.task for job in self._jobs.values() if job.task and not job.task.done()]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def _job(self, agent: AgentId, number: int) -> _RunningJob:
        job = self._jobs.get((agent, number))
        if job is None:
            raise ToolError(
                f"No job {number} runs here. If Sapwood was restarted, it has ended. "
                "Call jobs without a number for the list."
            )
        return job

    async def _watch(self, agent: AgentId, number: int, job: _RunningJob, run: RunJob) -> None:
        running = asyncio.ensure_future(run(job.add))
        elsewhere = asyncio.ensure_future(self._log.wait_for_end(agent, number))
        try:
            await asyncio.wait({running, elsewhere}, return_when=asyncio.FIRST_COMPLETED)
            ended_by_user = not running.done()
        except asyncio.CancelledError:
            ended_by_user = False
        elsewhere.cancel()
        was_running = not running.done()
        running.cancel()  # ends the program first
        [result] = await asyncio.gather(running, return_exceptions=True)
        await asyncio.gather(elsewhere, return_exceptions=True)
        if was_running:
            job.result = "ended by the user" if ended_by_user else job.reason
        else:
            job.result = result.status if isinstance(result, ShellResult) else f"failed: {result}"
        await self._log.ended(agent, number, job.result, job.tail)
