"""The conversation service of one space for a server, and the agents that run in its process.

The server is a worker too: it continues turns that other processes left open.
"""

import asyncio
import logging
import os
from collections.abc import Mapping

from msgspec import structs

from sapwood.app.agent_runner import AgentRunner
from sapwood.app.connection import Connection
from sapwood.app.running_space import RunningSpace
from sapwood.config.config_file import Config
from sapwood.conversation.service import ConversationService
from sapwood.engine import keep_awake

_log = logging.getLogger("sapwood.server")


class ServedAgents(RunningSpace):
    """One space of a database with what runs its agents.

    Without `drives`, prompts are stored and a worker of another process answers them.
    """

    def __init__(
        self, connection: Connection, config: Config, keys: Mapping[str, str], *, drives: bool
    ) -> None:
        super().__init__(
            connection, config, keys, _log.error, for_workers=True, ask_seconds=config.ask_seconds
        )
        self.folder = os.getcwd() if connection.folder is None else connection.folder.path
        """The folder of new conversations that name no other; empty if they have none."""
        self._drives = drives
        self._waking: asyncio.Task[None] | None = None
        self.picking = ConversationService(structs.replace(self.service.services, picks=True))
        """The same service for a face that has lists to pick a missing argument from."""
        if drives:
            _ = self.runner  # it has to hear of every prompt

    def start(self) -> None:
        """Starts to run agents in the background, once; those with unfinished work first."""
        if self._drives:
            super().start()

    async def started(self) -> AgentRunner:
        """Starts to run agents, once, and keeps those awake that have work to do."""
        runner = await super().started()
        if self._waking is None:
            connection = self.connection
            self._waking = asyncio.ensure_future(
                keep_awake(connection.log, self.engine, [connection.space])
            )
        return runner

    async def close(self) -> None:
        """Stops running agents. Open turns stay open; the next process continues them."""
        if self._waking is not None:
            self._waking.cancel()
            await asyncio.gather(self._waking, return_exceptions=True)
        await super().close()
