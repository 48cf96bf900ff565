"""The tool `slash`: runs the slash commands that models may use, on agents of Sapwood."""

import json
import secrets
from typing import Any

import msgspec
from msgspec import Struct

from sapwood.app.connection import Connection, connect
from sapwood.app.conversation_service import offline_service
from sapwood.app.engines import agents_given_work, wake_by_workers
from sapwood.config.config_file import Config, prepare_folder
from sapwood.conversation.agent_lookup import find
from sapwood.conversation.model_tool import SLASH, ModelCommandTool, slash_spec
from sapwood.core.content import ToolCall
from sapwood.core.ids import AgentId
from sapwood.core.model_calls import ToolOutcome

__all__ = ["SLASH", "SlashTool", "slash_description", "slash_schema"]

_MODEL = "mcp"
_AGENT = {
    "type": "string",
    "description": "The agent that runs the command, by id, start of id, or name",
}


class _SlashCall(Struct, forbid_unknown_fields=True):
    command: str
    args: str = ""
    agent: str = ""


def slash_schema(agent: str = "") -> dict[str, Any]:
    """Returns the JSON schema of the arguments. With `agent` set, there is no argument for it."""
    schema: dict[str, Any] = json.loads(slash_spec().schema)
    if not agent:
        schema["properties"]["agent"] = _AGENT
        schema["required"] = [*schema["required"], "agent"]
    return schema


def slash_description() -> str:
    """Returns the description of the tool, with a line for each command."""
    return slash_spec().description.replace(
        "Control your context and your child agents.",
        "Control the context and the children of an agent of Sapwood.",
    )


class SlashTool:
    """Runs commands for one agent, or for the agent that a call names."""

    def __init__(self, config: Config, agent: str = "") -> None:
        self._config = config
        self._agent = agent

    async def call(self, arguments: dict[str, Any]) -> ToolOutcome:
        """Runs the command and returns its answer. Wakes the agents that got work by it."""
        try:
            call = msgspec.convert(arguments, _SlashCall)
        except msgspec.ValidationError as error:
            return ToolOutcome(f"The arguments do not fit the tool: {error}.", error=True)
        if self._agent and call.agent not in ("", self._agent):
            return ToolOutcome(f"This server serves only the agent '{self._agent}'.", error=True)
        prepare_folder(self._config)
        connection = await connect(self._config.address, self._config.space)
        try:
            async with agents_given_work(connection) as agents:
                agent = await find(connection, self._agent or call.agent)
                outcome = await _run(connection, self._config, agent, call)
        finally:
            await connection.close()
        await wake_by_workers(self._config, agents)
        return outcome


async def _run(
    connection: Connection, config: Config, agent: AgentId, call: _SlashCall
) -> ToolOutcome:
    state = (await connection.dispatcher.open(agent)).state
    tool_call = ToolCall(f"mcp-{secrets.token_hex(8)}", SLASH, msgspec.json.encode(call).decode())
    tool = ModelCommandTool(offline_service(connection, config), parks=False)
    outcome = await tool.run(state, tool_call, _MODEL)
    assert isinstance(outcome, ToolOutcome), "every call has a result if it cannot wait"
    return outcome
