"""The tools and prompts of the server, for both transports.

The tool `context`, made from the same declaration as `sapwood context`.

The tool `slash`: runs the slash commands that models may use, on agents of Sapwood.
"""

import asyncio
import json
import logging
import os
import secrets
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from sapwood.app.connection import Connection, connect
from sapwood.app.conversation_service import offline_service
from sapwood.app.engines import agents_given_work, wake_by_workers
from sapwood.config.config_file import Config, prepare_folder
from sapwood.context_actions.context_request import (
    ACTIONS,
    FOR_ALL,
    Action,
    ContextRequest,
    action_named,
)
from sapwood.context_actions.hook_memory import hook_memory_folder, last_session
from sapwood.context_actions.session_finder import running_session
from sapwood.conversation.agent_lookup import find, imported_agent
from sapwood.conversation.model_tool import SLASH as SLASH
from sapwood.conversation.model_tool import ModelCommandTool, slash_spec
from sapwood.core.command_table import TABLE
from sapwood.core.content import ToolCall
from sapwood.core.errors import SapwoodError
from sapwood.core.ids import AgentId
from sapwood.core.model_calls import ToolOutcome

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


CONTEXT = "context"
_WIDTH = 100


class _ContextCall(ContextRequest, frozen=True, forbid_unknown_fields=True):
    """The arguments of a call: a request, the folder of another project, and the format."""

    folder: Annotated[
        str,
        Meta(description="The folder of another project; by default the project of the server"),
    ] = ""
    json: Annotated[bool, Meta(description="Answer with JSON instead of text")] = False


_OTHER_PROJECTS = ("folder", *FOR_ALL)
"""The arguments that reach beyond the session and the project of the server."""


def context_schema(*, all_projects: bool = False) -> dict[str, Any]:
    """Returns the JSON schema of the arguments; with `all_projects`, also for other projects."""
    found = msgspec.json.schema(_ContextCall)["$defs"]["_ContextCall"]
    names = [action.name for action in ACTIONS]
    found["properties"]["action"] = {"type": "string", "enum": names}
    if not all_projects:
        for name in _OTHER_PROJECTS:
            del found["properties"][name]
    return {
        name: found[name] for name in ("type", "properties", "required", "additionalProperties")
    }


def context_description() -> str:
    """Returns the description of the tool, with a line for each action."""
    about = "Inspect and manage the context of this session: usage, archives, search, handoff."
    return "\n".join((about, *map(_line, ACTIONS)))


def _line(action: Action) -> str:
    takes = f" ({', '.join(action.takes)})" if action.takes else ""
    return f"{action.name}{takes}: {action.help}."


class ContextTool:
    """Answers calls of the tool for the session of the program that started the server.

    Calls read and change that session, and search its project `folder`. With `all_projects`, calls
    that only read may name another folder, session or transcript.
    """

    def __init__(self, config: Config, folder: Path, *, all_projects: bool = False) -> None:
        self._config = config
        self._folder = folder
        self._all_projects = all_projects

    async def call(self, arguments: dict[str, Any]) -> ToolOutcome:
        """Runs the requested action and returns its answer. Raises `SapwoodError` if it fails.

        Imports the actions at the first call, so that the server starts fast.
        """
        from sapwood.app.connection import connect
        from sapwood.context_actions.actions import ContextActions
        from sapwood.context_actions.session_finder import running_session
        from sapwood.display.context_answer_text import answer_lines

        try:
            call = msgspec.convert(arguments, _ContextCall, strict=False)
        except msgspec.ValidationError as error:
            return ToolOutcome(f"The arguments do not fit the tool: {error}.", error=True)
        if refusal := self._refusal(call):
            return ToolOutcome(refusal, error=True)
        actions = ContextActions(
            Path(call.folder) if call.folder else self._folder,
            self._config,
            connect,
            "" if call.folder else running_session(os.environ),
            by_model=True,
            only_project=not self._all_projects,
        )
        answer = await actions.do(call)
        if call.json:
            return ToolOutcome(msgspec.json.encode(answer).decode())
        return ToolOutcome("\n".join(answer_lines(answer, _WIDTH)))

    def _refusal(self, call: _ContextCall) -> str:
        """Says why the call may not name what it names; empty if it may."""
        named = [name for name in _OTHER_PROJECTS if getattr(call, name)]
        if not named:
            return ""
        if not self._all_projects:
            return (
                "This server serves one session of one project, so it does not accept "
                f"'{named[0]}'. The user can allow reading other projects: sapwood mcp "
                "--all-projects"
            )
        if action_named(call.action).acts:
            return f"'{named[0]}' works only for reading, not for {call.action}."
        return ""


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
        "Control the context and the children of a Sapwood agent.",
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
                f"No session in {folder} is known, so there is no agent to act on. For a Sapwood "
                "agent, the user can start the server with: sapwood mcp --agent NAME"
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
