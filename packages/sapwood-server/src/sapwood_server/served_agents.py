"""The conversation service of one space for a server, and the agents that run in its process.

The server is a worker too: it continues turns that other processes left open.
"""

import asyncio
import logging
import os
from collections.abc import Mapping

from msgspec import structs

from sapwood.app.agent_runner import AgentRunner
from sapwood.app.assembly import assemble
from sapwood.app.connection import Connection
from sapwood.app.conversation_service import conversation_service
from sapwood.app.engines import LazyEngine
from sapwood.config.config_file import Config
from sapwood.conversation.service import ConversationService
from sapwood.core.commands import CommandMeta
from sapwood.core.errors import SapwoodError
from sapwood.core.ids import AgentId
from sapwood.core.model_calls import Failure
from sapwood.core.refusals import Refusal
from sapwood.engine import keep_awake
from sapwood.turns.dispatch import Done

_log = logging.getLogger("sapwood.server")


class ServedAgents:
    """One space of a database with what runs its agents.

    Without `drives`, prompts are stored and a worker of another process answers them.
    """

    def __init__(
        self, connection: Connection, config: Config, keys: Mapping[str, str], *, drives: bool
    ) -> None:
        self.connection = connection
        self.config = config
        self.folder = os.getcwd() if connection.folder is None else connection.folder.path
        """The folder of new conversations that name no other; empty if they have none."""
        self._keys = dict(keys)
        self._drives = drives
        self._engine = LazyEngine(config, connection, for_workers=True)
        self._runner: AgentRunner | None = None
        self._waking: asyncio.Task[None] | None = None
        self._starting: asyncio.Task[None] | None = None
        self._assuming: set[asyncio.Task[None]] = set()
        self.service: ConversationService = conversation_service(
            connection,
            config,
            keys,
            compact=self._compact,
            start_work=self.start,
            picks=False,
            assume=self._assume,
        )
        self.picking = ConversationService(structs.replace(self.service.services, picks=True))
        """The same service for a face that has lists to pick a missing argument from."""
        if drives:
            _ = self.runner  # it has to hear of every prompt

    @property
    def runner(self) -> AgentRunner:
        """What runs agents, assembled on first use."""
        if self._runner is None:
            self._runner = assemble(
                self.connection,
                self.config,
                self._keys,
                engine=self._engine,
                ask_seconds=self.config.ask_seconds,
            )
        return self._runner

    def start(self) -> None:
        """Starts to run agents in the background, once; those with unfinished work first."""
        if self._drives and self._starting is None:
            self._starting = asyncio.ensure_future(self._started())

    async def interrupt(self, agent: AgentId, reason: str) -> Done | Refusal:
        """Stops the open turn and keeps every word that was shown."""
        return await self.runner.interrupt(agent, reason)

    async def close(self) -> None:
        """Stops running agents. Open turns stay open; the next process continues them."""
        for task in (self._starting, self._waking):
            if task is not None:
                if task is self._waking:
                    task.cancel()
                await asyncio.gather(task, return_exceptions=True)
        if self._runner is not None:
            await self._runner.close()

    async def _started(self) -> None:
        try:
            await self.runner.start()
            engine, connection = self._engine, self.connection
            self._waking = asyncio.ensure_future(
                keep_awake(connection.log, engine, [connection.space])
            )
        except (SapwoodError, Failure) as error:
            self._starting = None  # the next prompt tries again
            _log.error("Prompts are stored, but agents cannot run now: %s", error)
        except Exception:
            self._starting = None
            _log.exception("Prompts are stored, but agents cannot run now")

    async def _compact(
        self, agent: AgentId, keep: int, anyway: bool, why: CommandMeta, wanted: str
    ) -> Done | Refusal:
        return await self.runner.compact(agent, keep, anyway, why, wanted)

    async def _assume(self, agent: AgentId) -> None:
        task = asyncio.ensure_future(self.runner.assume(agent))
        self._assuming.add(task)
        task.add_done_callback(self._assuming.discard)
