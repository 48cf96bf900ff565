"""Records background commands in the log of their agent."""

import asyncio

from sapwood.app.connection import Connection
from sapwood.core.commands import EndJob, StartJob
from sapwood.core.errors import LogUnavailable
from sapwood.core.events import SYSTEM, JobEnded, JobStarted
from sapwood.core.ids import AgentId
from sapwood.core.refusals import Refusal
from sapwood.turns.clock_and_ids import command_meta
from sapwood.workspace.process_identity import process_identity
from sapwood.workspace.tool_output import ToolError

_READ_AGAIN = 1.0


class AgentJobLog:
    """The log of the agents of one space."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def started(self, agent: AgentId, line: str, call: str) -> int:
        command = StartJob(agent, line, call, process_identity())
        done = await self._connection.dispatcher.dispatch(command, command_meta(SYSTEM))
        if isinstance(done, Refusal):
            raise ToolError(f"The command was not started. {done.sentence}")
        log, version = self._connection.log, done.events[-1].version
        [recorded] = await log.read(self._connection.space, agent, version, version)
        assert isinstance(recorded.event, JobStarted)
        return recorded.event.job

    async def ended(self, agent: AgentId, job: int, result: str, output: str) -> None:
        """Records an end, unless the log has one: then the command is refused."""
        command = EndJob(agent, job, result, output)
        await self._connection.dispatcher.dispatch(command, command_meta(SYSTEM))

    async def wait_for_end(self, agent: AgentId, job: int) -> None:
        after = (await self._connection.dispatcher.open(agent)).state.version
        while True:
            try:
                async for recorded in self._connection.log.follow(
                    self._connection.space, agent, after
                ):
                    after = recorded.version
                    if isinstance(recorded.event, JobEnded) and recorded.event.job == job:
                        return
            except LogUnavailable:
                await asyncio.sleep(_READ_AGAIN)
