"""The tool `slash`: runs the slash commands that models may use, on agents of Sapwood."""

import asyncio
import json
import os
import secrets
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from sapwood.app.connection import Connection, connect
from sapwood.app.conversation_service import offline_service
from sapwood.app.engines import agents_given_work, wake_by_workers
from sapwood.config.config_file import Config, prepare_folder
from sapwood.context_actions.hook_memory import hook_memory_folder, last_session
from sapwood.context_actions.session_finder import running_session
from sapwood.conversation.agent_lookup import find, imported_agent
from sapwood.conversation.model_tool import SLASH, ModelCommandTool, slash_spec
from sapwood.core.content import ToolCall
from sapwood.core.errors import SapwoodError
from sapwood.core.ids import AgentId
from sapwood.core.model_calls import ToolOutcome

__all__ = ["SLASH", "SlashTool", "slash_description", "slash_schema"]

_MODEL = "mcp"


class _SlashCall(Struct, forbid_unknown_fields=True):
    command: str
    args: str = ""


def slash_schema() -> dict[str, Any]:
    """Returns the JSON schema of the arguments."""
    return json.loads(slash_spec().schema)


def slash_description() -> str:
    """Returns the description of the tool, with a line for each command."""
    return slash_spec().description.replace(
        "Control your context and your child agents.",
        "Control the context and the children of an agent of Sapwood.",
    )


class SlashTool:
    """Runs commands for one agent: the one that the server was started for, else its session's.

    A call cannot name an agent, so a model cannot act as another one. The database is opened by the
    first call and stays open until `close`.
    """

    def __init__(self, config: Config, folder: Path, agent: str = "") -> None:
        self._config = config
        self._folder = folder
        self._agent = agent
        self._connection: Connection | None = None
        self._opening = asyncio.Lock()

    async def call(self, arguments: dict[str, Any]) -> ToolOutcome:
        """Runs the command and returns its answer. Wakes the agents that got work by it."""
        try:
            call = msgspec.convert(arguments, _SlashCall)
        except msgspec.ValidationError as error:
            return ToolOutcome(f"The arguments do not fit the tool: {error}.", error=True)
        connection = await self._connected()
        async with agents_given_work(connection) as agents:
            agent = await self._find_agent(connection)
            outcome = await _run(connection, self._config, agent, call)
        await wake_by_workers(self._config, agents)
        return outcome

    async def close(self) -> None:
        """Closes the database if a call opened it."""
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()

    async def _connected(self) -> Connection:
        async with self._opening:
            if self._connection is None:
                prepare_folder(self._config)
                self._connection = await connect(self._config.address, self._config.space)
            return self._connection

    async def _find_agent(self, connection: Connection) -> AgentId:
        if self._agent:
            return await find(connection, self._agent)
        folder = str(self._folder.resolve())
        session = running_session(os.environ) or last_session(hook_memory_folder(), folder)[0]
        if not session:
            raise SapwoodError(
                f"No session in {folder} is known, so there is no agent to act for. For an agent "
                "of Sapwood, the user can start the server with: sapwood mcp --agent NAME"
            )
        agent = await imported_agent(connection, session)
        if agent is None:
            raise SapwoodError(
                f"The session {session} is not in the log yet. Sapwood imports it when a turn "
                "ends; try again in the next turn."
            )
        return agent


async def _run(
    connection: Connection, config: Config, agent: AgentId, call: _SlashCall
) -> ToolOutcome:
    state = (await connection.dispatcher.open(agent)).state
    tool_call = ToolCall(f"mcp-{secrets.token_hex(8)}", SLASH, msgspec.json.encode(call).decode())
    tool = ModelCommandTool(offline_service(connection, config), parks=False)
    outcome = await tool.run(state, tool_call, _MODEL)
    assert isinstance(outcome, ToolOutcome), "every call has a result if it cannot wait"
    return outcome
