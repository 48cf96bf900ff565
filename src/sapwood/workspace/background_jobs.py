"""Shell commands that run in the background of a conversation, also after their turn.

They end with the process of Sapwood that runs them, even if that is killed. Their starts and ends
are in the log; what they print is kept in memory until they end.

A result is masked by itself when it is stored, so a secret whose name is in another result would
stay. Each part of the output is therefore cut from the output that was masked as a whole.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import Protocol

from sapwood.core.ids import AgentId
from sapwood.redaction import mask_secrets
from sapwood.workspace.tool_output import ToolError
from sapwood.workspace.tools.shell_tool import ShellResult

_SHOWN_BYTES = 200_000
_MASKED_WITH = 20_000
"""Bytes before what is shown that are kept, because a secret may begin in them."""
_TAIL = 2_000
"""Characters of output that are stored with the end of a command."""
_MAX_HELD_BACK = 10_000
"""The longest unfinished line that is held back."""

Mask = Callable[[str], str]
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
    """A command, and the end of what it printed. Positions are numbers of bytes from its start."""

    def __init__(self, line: str, mask: Mask) -> None:
        self.line = line
        self.result = ""
        self.reason = "ended when Sapwood stopped"
        self.task: asyncio.Task[None] | None = None
        self._mask = mask
        self._kept = bytearray()
        self._printed = 0
        self._read = 0

    def add(self, data: bytes) -> None:
        self._kept += data
        self._printed += len(data)
        del self._kept[: max(0, len(self._kept) - _SHOWN_BYTES - _MASKED_WITH)]

    def new_output(self) -> str:
        """What was printed since the last call, up to the end of the last finished line."""
        begin = max(self._read, self._first_shown())
        missing, end = begin - self._read, max(begin, self._end_of_lines())
        text = self._masked(begin, end)
        self._read = end
        if held := self._printed - end:
            line = "" if text.endswith("\n") or not text else "\n"
            text += f"{line}\n[{held:,} bytes of an unfinished line are held back]"
        return f"[{missing:,} bytes were dropped]\n{text}" if missing else text

    @property
    def tail(self) -> str:
        """The last lines."""
        text = self._masked(self._first_shown(), self._printed)
        if len(text) <= _TAIL:
            return text
        lines = text[-_TAIL - 1 :].partition("\n")
        return lines[2] or text[-_TAIL:]

    def _first_kept(self) -> int:
        return self._printed - len(self._kept)

    def _first_shown(self) -> int:
        """Where the output begins that is shown: its start, or a line after what was dropped."""
        if not self._first_kept():
            return 0
        return self._first_kept() + max(_MASKED_WITH, self._kept.find(b"\n", _MASKED_WITH) + 1)

    def _end_of_lines(self) -> int:
        """Where the finished lines end, or the finished words if the last line is very long."""
        if self.result:
            return self._printed
        held = len(self._kept) - _after_last(self._kept, b"\n\r")
        if held > _MAX_HELD_BACK:
            held = len(self._kept) - _after_last(self._kept, b' \t,;"')
        return self._printed - (held if held <= _MAX_HELD_BACK else 0)

    def _masked(self, begin: int, end: int) -> str:
        """The output between two positions, masked together with all that is kept before it."""
        first = self._first_kept()
        whole = self._mask(self._kept[: end - first].decode(errors="replace"))
        before = self._mask(self._kept[: begin - first].decode(errors="replace"))
        same = os.path.commonprefix((before, whole))  # noqa: RUF071 (of characters)
        return whole[len(same) :]


def _after_last(data: bytearray, ends: bytes) -> int:
    """The position after the last of these bytes; 0 if there is none."""
    return 1 + max(data.rfind(each) for each in ends)


class BackgroundJobs:
    """The background commands that this process runs, by agent and number.

    `mask` replaces the secrets in what they print.
    """

    def __init__(self, log: JobLog, mask: Mask = mask_secrets) -> None:
        self._log = log
        self._mask = mask
        self._jobs: dict[tuple[AgentId, int], _RunningJob] = {}

    async def start(self, agent: AgentId, line: str, call: str, run: RunJob) -> int:
        """Records the start, starts the command, and returns its number. Raises `ToolError`."""
        number = await self._log.started(agent, line, call)
        job = self._jobs[agent, number] = _RunningJob(line, self._mask)
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
