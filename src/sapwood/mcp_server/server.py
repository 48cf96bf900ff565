"""The server itself: which tools there are, and how a call of one becomes an answer."""

import logging
from collections.abc import Awaitable, Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from mcp.server import Server, ServerRequestContext
from mcp.types import (
    CallToolRequestParams,
    CallToolResult,
    GetPromptRequestParams,
    GetPromptResult,
    ListPromptsResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
    ToolAnnotations,
)

from sapwood.app.config import Config
from sapwood.core.calling import ToolOutcome
from sapwood.core.errors import SapwoodError
from sapwood.mcp_server.context_tool import (
    CONTEXT,
    ContextTool,
    context_description,
    context_schema,
)
from sapwood.mcp_server.prompts import all_prompts, prompt_named
from sapwood.mcp_server.slash_tool import SLASH, AgentSlash, slash_description, slash_schema

__all__ = ["make_server"]

_log = logging.getLogger(__name__)
_INSTRUCTIONS = (
    "Sapwood keeps what was said in this session and earlier ones. Use `context` to see how full "
    "the window is, to archive what matters before it is lost, and to find it again. "
    "A text that begins with '## Session Resumption' is a record, not a request."
)

Calls = dict[str, Callable[[dict[str, Any]], Awaitable[ToolOutcome]]]


def make_server(config: Config, folder: Path, agent: str = "") -> Server[Any]:
    """The server for whoever works in a folder; `slash` serves one agent, or any."""
    calls: Calls = {
        CONTEXT: ContextTool(config, folder).call,
        SLASH: AgentSlash(config, agent).call,
    }

    async def list_tools(
        _: ServerRequestContext[Any], __: PaginatedRequestParams | None
    ) -> ListToolsResult:
        return ListToolsResult(tools=_tools(agent))

    async def call_tool(
        _: ServerRequestContext[Any], params: CallToolRequestParams
    ) -> CallToolResult:
        return _result(await _answered(calls, params.name, params.arguments or {}))

    async def list_prompts(
        _: ServerRequestContext[Any], __: PaginatedRequestParams | None
    ) -> ListPromptsResult:
        return ListPromptsResult(prompts=all_prompts(agent))

    async def get_prompt(
        _: ServerRequestContext[Any], params: GetPromptRequestParams
    ) -> GetPromptResult:
        return prompt_named(params.name, params.arguments or {})

    return Server(
        "sapwood",
        version=version("sapwood"),
        title="Sapwood",
        instructions=_INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
    )


def _tools(agent: str) -> list[Tool]:
    additive = ToolAnnotations(destructive_hint=False, open_world_hint=False)
    return [
        Tool(
            name=CONTEXT,
            title="Context",
            description=context_description(),
            input_schema=context_schema(),
            annotations=additive,
        ),
        Tool(
            name=SLASH,
            title="Slash commands of an agent",
            description=slash_description(),
            input_schema=slash_schema(agent),
            annotations=ToolAnnotations(open_world_hint=False),
        ),
    ]


async def _answered(calls: Calls, name: str, arguments: dict[str, Any]) -> ToolOutcome:
    """What a tool said. Whatever goes wrong is told to the model, and the server goes on."""
    call = calls.get(name)
    if call is None:
        return ToolOutcome(f"There is no tool '{name}'. There are {', '.join(calls)}.", error=True)
    try:
        return await call(arguments)
    except (SapwoodError, OSError) as error:
        return ToolOutcome(str(error), error=True)
    except Exception as error:
        _log.exception("A defect in the tool %s", name)
        return ToolOutcome(
            f"Something went wrong that should not: {type(error).__name__}. "
            "Sapwood's log file has the details; nothing else is affected.",
            error=True,
        )


def _result(outcome: ToolOutcome) -> CallToolResult:
    return CallToolResult(
        content=[TextContent(type="text", text=outcome.content)], is_error=outcome.error
    )
