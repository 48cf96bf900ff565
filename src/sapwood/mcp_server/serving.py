"""Serving: over stdio to the program that started this one, or over HTTP to this machine alone."""

import hmac
import socket
from collections.abc import Callable
from typing import Any

from mcp.server import Server
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

__all__ = ["HOST", "PATH", "serve_http", "serve_stdio"]

HOST = "127.0.0.1"
PATH = "/mcp"


async def serve_stdio(server: Server[Any]) -> None:
    """Serves until whoever started this program closes its input."""
    from mcp.server.stdio import stdio_server

    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


async def serve_http(
    server: Server[Any], port: int, told: Callable[[str], None], token: str = ""
) -> None:
    """Serves until a signal ends it; port 0 takes any that is free. `told` hears the address.

    Requests must name this machine as their host, so that no web page can reach it through a name
    of its own. With a token, they must bear it too.
    """
    import uvicorn

    app: ASGIApp = server.streamable_http_app(streamable_http_path=PATH, host=HOST)
    if token:
        app = _Guarded(app, token)
    config = uvicorn.Config(app, log_config=None, access_log=False, timeout_graceful_shutdown=5)
    with socket.create_server((HOST, port)) as listening:
        told(f"http://{HOST}:{listening.getsockname()[1]}{PATH}")
        await uvicorn.Server(config).serve(sockets=[listening])


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
