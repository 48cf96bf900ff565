"""The tools and prompts of the server, for both transports."""

import json
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from msgspec import Struct

from sapwood.config.config_file import Config
from sapwood.context_actions.context_request import ACTIONS
from sapwood.core.command_table import TABLE
from sapwood.core.errors import SapwoodError
from sapwood.core.model_calls import ToolOutcome
from sapwood.mcp_server.context_tool import (
    CONTEXT,
    ContextTool,
    context_description,
    context_schema,
)
from sapwood.mcp_server.slash_tool import SLASH, SlashTool, slash_description, slash_schema

_log = logging.getLogger(__name__)

INSTRUCTIONS = (
    "Sapwood keeps this session and earlier ones. Use `context` to see how full the window is, to "
    "archive important content before a compaction, and to search it later. "
    "A text that begins with '## Session Resumption' is a record, not a request."
)


class ToolEntry(Struct, frozen=True):
    """A tool. `destructive` says whether a call can remove something."""

    name: str
    title: str
    description: str
    schema: dict[str, Any]
    destructive: bool


class PromptArgumentEntry(Struct, frozen=True):
    """An argument of a prompt."""

    name: str
    description: str
    required: bool = False


class PromptEntry(Struct, frozen=True):
    """An entry for the menu of a program. It asks the model to call a tool."""

    name: str
    description: str
    arguments: tuple[PromptArgumentEntry, ...]


class Catalog:
    """The tools and prompts for one project folder and one agent.

    Without `agent`, the agent is that of the session whose program started the server. With
    `all_projects`, calls of `context` may read other projects.
    """

    instructions = INSTRUCTIONS

    def __init__(
        self, config: Config, folder: Path, agent: str = "", *, all_projects: bool = False
    ) -> None:
        all_projects = all_projects or config.tending.all_projects
        self._context_schema = context_schema(all_projects=all_projects)
        self._slash = SlashTool(config, folder, agent)
        self._calls: dict[str, Callable[[dict[str, Any]], Awaitable[ToolOutcome]]] = {
            CONTEXT: ContextTool(config, folder, all_projects=all_projects).call,
            SLASH: self._slash.call,
        }

    def tools(self) -> list[ToolEntry]:
        """Returns all tools."""
        return [
            ToolEntry(CONTEXT, "Context", context_description(), self._context_schema, False),
            ToolEntry(SLASH, "Commands of an agent", slash_description(), slash_schema(), True),
        ]

    async def call(self, name: str, arguments: dict[str, Any]) -> ToolOutcome:
        """Calls a tool and returns its answer. An error becomes an answer for the model."""
        call = self._calls.get(name)
        if call is None:
            known = ", ".join(self._calls)
            return ToolOutcome(f"There is no tool '{name}'. The tools are {known}.", error=True)
        try:
            return await call(arguments)
        except (SapwoodError, OSError) as error:
            return ToolOutcome(str(error), error=True)
        except Exception as error:
            _log.exception("A bug in the tool %s", name)
            return ToolOutcome(
                f"Unexpected error: {type(error).__name__}. The details are in Sapwood's log file. "
                "Other calls still work.",
                error=True,
            )

    async def close(self) -> None:
        """Closes what the calls opened."""
        await self._slash.close()

    def prompts(self) -> list[PromptEntry]:
        """Returns a prompt for each action of `context` and each command that models may use."""
        about = self._context_schema["properties"]
        fields = slash_schema()["properties"]
        actions = [
            PromptEntry(
                action.name,
                action.help,
                tuple(
                    PromptArgumentEntry(name, about[name]["description"], name == action.bare)
                    for name in action.takes
                ),
            )
            for action in ACTIONS
        ]
        commands = [
            PromptEntry(
                command.name,
                command.help,
                tuple(
                    PromptArgumentEntry(name, fields[name]["description"])
                    for name in fields
                    if name != "command"
                ),
            )
            for command in TABLE.for_models
        ]
        return [*actions, *commands]

    def prompt(self, name: str, arguments: dict[str, str]) -> str | None:
        """Returns the text that asks a model to call the tool; None if there is no such prompt."""
        given = {key: value for key, value in arguments.items() if value}
        if any(action.name == name for action in ACTIONS):
            tool, call = CONTEXT, {"action": name, **given}
        elif any(command.name == name for command in TABLE.for_models):
            tool, call = SLASH, {"command": name, **given}
        else:
            return None
        return (
            f"Call the tool `{tool}` of the server `sapwood` with {json.dumps(call)} and show its "
            "answer as it is, in a code block."
        )
