"""Serves by streamable HTTP, on this machine alone. The protocol is the library's affair."""

import hmac
import socket
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import uvicorn
from mcp.server import Server, ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    GetPromptRequestParams,
    GetPromptResult,
    ListPromptsResult,
    ListToolsResult,
    PaginatedRequestParams,
    Prompt,
    PromptArgument,
    PromptMessage,
    TextContent,
    Tool,
    ToolAnnotations,
)
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from sapwood.mcp_server.offering import INSTRUCTIONS, OfferedPrompt, OfferedTool, Offering

__all__ = ["serve_http"]

_HOST = "127.0.0.1"
_PATH = "/mcp"


async def serve_http(
    offering: Offering, port: int, told: Callable[[str], None], token: str = ""
) -> None:
    """Serves until a signal ends it; port 0 takes any that is free. `told` hears the address.

    Requests must name this machine as their host, so that no web page can reach it through a name
    of its own. With a token, they must bear it too.
    """
    app: ASGIApp = _server(offering).streamable_http_app(streamable_http_path=_PATH, host=_HOST)
    if token:
        app = _Guarded(app, token)
    config = uvicorn.Config(app, log_config=None, access_log=False, timeout_graceful_shutdown=5)
    with socket.create_server((_HOST, port)) as listening:
        told(f"http://{_HOST}:{listening.getsockname()[1]}{_PATH}")
        await uvicorn.Server(config).serve(sockets=[listening])


def _server(offering: Offering) -> Server[Any]:
    async def list_tools(
        _: ServerRequestContext[Any], __: PaginatedRequestParams | None
    ) -> ListToolsResult:
        return ListToolsResult(tools=[_tool(each) for each in offering.tools()])

    async def call_tool(
        _: ServerRequestContext[Any], params: CallToolRequestParams
    ) -> CallToolResult:
        outcome = await offering.call(params.name, params.arguments or {})
        text = TextContent(type="text", text=outcome.content)
        return CallToolResult(content=[text], is_error=outcome.error)

    async def list_prompts(
        _: ServerRequestContext[Any], __: PaginatedRequestParams | None
    ) -> ListPromptsResult:
        return ListPromptsResult(prompts=[_prompt(each) for each in offering.prompts()])

    async def get_prompt(
        _: ServerRequestContext[Any], params: GetPromptRequestParams
    ) -> GetPromptResult:
        words = offering.prompt(params.name, params.arguments or {})
        if words is None:
            raise MCPError(INVALID_PARAMS, f"There is no prompt '{params.name}'.")
        said = PromptMessage(role="user", content=TextContent(type="text", text=words))
        return GetPromptResult(messages=[said])

    return Server(
        "sapwood",
        version=version("sapwood"),
        title="Sapwood",
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
    )


def _tool(offered: OfferedTool) -> Tool:
    return Tool(
        name=offered.name,
        title=offered.title,
        description=offered.description,
        input_schema=offered.schema,
        annotations=ToolAnnotations(destructive_hint=offered.destructive, open_world_hint=False),
    )


def _prompt(offered: OfferedPrompt) -> Prompt:
    return Prompt(
        name=offered.name,
        description=offered.description,
        arguments=[
            PromptArgument(name=each.name, description=each.description, required=each.required)
            for each in offered.arguments
        ],
    )


class _Guarded:
    """Lets only those in who bear the token."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._expected = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers: dict[bytes, bytes] = dict(scope["headers"])
            if not hmac.compare_digest(headers.get(b"authorization", b""), self._expected):
                refused = PlainTextResponse(
                    "The token is missing or wrong.",
                    status_code=401,
                    headers={"WWW-Authenticate": "Bearer"},
                )
                await refused(scope, receive, send)
                return
        await self._app(scope, receive, send)
