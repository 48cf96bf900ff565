"""Serves MCP over streamable HTTP on this machine only, with the `mcp` library."""

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

from sapwood.mcp_server.catalog import INSTRUCTIONS, Catalog, PromptEntry, ToolEntry

_HOST = "127.0.0.1"
_PATH = "/mcp"


async def serve_http(
    catalog: Catalog, port: int, on_ready: Callable[[str], None], token: str
) -> None:
    """Serves until a signal ends the process. Port 0 chooses a free port.

    Calls `on_ready` with the address. Refuses requests without the bearer token, because every user
    of the machine can reach the port. Refuses requests whose `Host` or `Origin` is not this
    machine, so that no web page can use the server through a host name of its own.
    """
    if not token:
        raise ValueError("The HTTP server needs a token.")
    app = _server(catalog).streamable_http_app(streamable_http_path=_PATH, host=_HOST)
    guarded = _TokenGuard(app, token)
    config = uvicorn.Config(guarded, log_config=None, access_log=False, timeout_graceful_shutdown=5)
    with socket.create_server((_HOST, port)) as listener:
        # asyncio sets this only on sockets that name their protocol; without it answers wait 40 ms.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        on_ready(f"http://{_HOST}:{listener.getsockname()[1]}{_PATH}")
        await uvicorn.Server(config).serve(sockets=[listener])


def _server(catalog: Catalog) -> Server[Any]:
    async def list_tools(
        _: ServerRequestContext[Any], __: PaginatedRequestParams | None
    ) -> ListToolsResult:
        return ListToolsResult(tools=[_tool(each) for each in catalog.tools()])

    async def call_tool(
        _: ServerRequestContext[Any], params: CallToolRequestParams
    ) -> CallToolResult:
        outcome = await catalog.call(params.name, params.arguments or {})
        content = TextContent(type="text", text=outcome.content)
        return CallToolResult(content=[content], is_error=outcome.error)

    async def list_prompts(
        _: ServerRequestContext[Any], __: PaginatedRequestParams | None
    ) -> ListPromptsResult:
        return ListPromptsResult(prompts=[_prompt(each) for each in catalog.prompts()])

    async def get_prompt(
        _: ServerRequestContext[Any], params: GetPromptRequestParams
    ) -> GetPromptResult:
        text = catalog.prompt(params.name, params.arguments or {})
        if text is None:
            raise MCPError(INVALID_PARAMS, f"There is no prompt '{params.name}'.")
        message = PromptMessage(role="user", content=TextContent(type="text", text=text))
        return GetPromptResult(messages=[message])

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


def _tool(entry: ToolEntry) -> Tool:
    return Tool(
        name=entry.name,
        title=entry.title,
        description=entry.description,
        input_schema=entry.schema,
        annotations=ToolAnnotations(destructive_hint=entry.destructive, open_world_hint=False),
    )


def _prompt(entry: PromptEntry) -> Prompt:
    return Prompt(
        name=entry.name,
        description=entry.description,
        arguments=[
            PromptArgument(name=each.name, description=each.description, required=each.required)
            for each in entry.arguments
        ],
    )


class _TokenGuard:
    """Refuses requests without the bearer token."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._expected = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "lifespan":
            headers: dict[bytes, bytes] = dict(scope["headers"])
            if not hmac.compare_digest(headers.get(b"authorization", b""), self._expected):
                refused = PlainTextResponse(
                    "The bearer token is missing or wrong.",
                    status_code=401,
                    headers={"WWW-Authenticate": "Bearer"},
                )
                await refused(scope, receive, send)
                return
        await self._app(scope, receive, send)
