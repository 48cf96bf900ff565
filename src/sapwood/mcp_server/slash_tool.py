"""The tool `slash` for own agents: the model's commands of the table, and nothing more."""

import json
import secrets
from typing import Any

import msgspec
from msgspec import Struct

from sapwood.app.config import Config
from sapwood.app.connection import Connection, connect
from sapwood.app.conversation_service import offline_service
from sapwood.app.opening import prepare_folder
from sapwood.app.waking import given_work, wake_elsewhere
from sapwood.conversation.agent_lookup import find
from sapwood.conversation.model_tool import SLASH, ModelCommandTool, slash_spec
from sapwood.core.calling import ToolOutcome
from sapwood.core.content import ToolCall
from sapwood.core.ids import AgentId

__all__ = ["SLASH", "AgentSlash", "slash_description", "slash_schema"]

_MODEL = "mcp"
_AGENT = {"type": "string", "description": "The agent that gives the command: id, its start, name"}


class _Asked(Struct, forbid_unknown_fields=True):
    command: str
    args: str = ""
    agent: str = ""


def slash_schema(agent: str = "") -> dict[str, Any]:
    """The arguments of the tool. A server for one agent does not ask which."""
    schema: dict[str, Any] = json.loads(slash_spec().schema)
    if not agent:
        schema["properties"]["agent"] = _AGENT
        schema["required"] = [*schema["required"], "agent"]
    return schema


def slash_description() -> str:
    """What the tool does, command by command."""
    return slash_spec().description.replace(
        "Control your context and your child agents.",
        "Control the context and the children of an agent of Sapwood's own.",
    )


class AgentSlash:
    """Gives commands on behalf of an agent: the one it was made for, or whichever is named."""

    def __init__(self, config: Config, agent: str = "") -> None:
        self._config = config
        self._agent = agent

    async def call(self, arguments: dict[str, Any]) -> ToolOutcome:
        """What came of the command. Agents that have work to do because of it are woken."""
        try:
            asked = msgspec.convert(arguments, _Asked)
        except msgspec.ValidationError as wrong:
            return ToolOutcome(f"The arguments do not fit the tool: {wrong}.", error=True)
        if self._agent and asked.agent not in ("", self._agent):
            return ToolOutcome(f"This server serves the agent '{self._agent}' alone.", error=True)
        prepare_folder(self._config)
        connection = await connect(self._config.address, self._config.space)
        try:
            async with given_work(connection) as working:
                agent = await find(connection, self._agent or asked.agent)
                outcome = await _given(connection, self._config, agent, asked)
        finally:
            await connection.close()
        await wake_elsewhere(self._config, working)
        return outcome


async def _given(
    connection: Connection, config: Config, agent: AgentId, asked: _Asked
) -> ToolOutcome:
    state = (await connection.dispatcher.open(agent)).state
    call = ToolCall(f"mcp-{secrets.token_hex(8)}", SLASH, msgspec.json.encode(asked).decode())
    tool = ModelCommandTool(offline_service(connection, config), parks=False)
    outcome = await tool.run(state, call, _MODEL)
    assert isinstance(outcome, ToolOutcome), "without parking every call has a result"
    return outcome
