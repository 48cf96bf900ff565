"""Serves MCP over HTTP on this machine only. Every message is answered by itself, in JSON."""

import hmac
import socket
from collections.abc import Callable
from urllib.parse import urlsplit

import uvicorn
from msgspec import UNSET
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from sapwood.mcp_server.catalog import Catalog
from sapwood.mcp_server.mcp_messages import (
    McpResponder,
    ProtocolError,
    parse_message,
    response_line,
)

_HOST = "127.0.0.1"
_PATH = "/mcp"
_NAMES = frozenset({_HOST, "localhost", "::1"})
"""The names of this machine. A web page that has another name cannot use the server."""


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
    responder, expected = McpResponder(catalog), f"Bearer {token}".encode()

    async def answer(request: Request) -> Response:
        return _refusal(request, expected) or await _answered(responder, await request.body())

    app = Starlette(routes=[Route(_PATH, answer, methods=["POST"])])
    config = uvicorn.Config(app, log_config=None, access_log=False, timeout_graceful_shutdown=5)
    with socket.create_server((_HOST, port)) as listener:
        # asyncio sets this only on sockets that name their protocol; without it answers wait 40 ms.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        on_ready(f"http://{_HOST}:{listener.getsockname()[1]}{_PATH}")
        await uvicorn.Server(config).serve(sockets=[listener])


def _refusal(request: Request, expected: bytes) -> Response | None:
    given = request.headers.get("authorization", "").encode("latin-1")
    if not hmac.compare_digest(given, expected):
        headers = {"WWW-Authenticate": "Bearer"}
        return PlainTextResponse("The bearer token is missing or wrong.", 401, headers)
    origin = request.headers.get("origin")
    addresses = [f"//{request.headers.get('host', '')}", *([origin] if origin is not None else ())]
    if not all(_is_here(each) for each in addresses):
        return PlainTextResponse("Only this machine is served, by its own name.", 403)
    return None


def _is_here(address: str) -> bool:
    try:
        return urlsplit(address).hostname in _NAMES
    except ValueError:
        return False


async def _answered(responder: McpResponder, body: bytes) -> Response:
    try:
        message = parse_message(body)
    except ProtocolError as error:
        wrong = response_line(None, error={"code": error.code, "message": str(error)})
        return Response(wrong, 400, media_type="application/json")
    if message.id is UNSET:
        return Response(status_code=202)
    return Response(await responder.answer(message), media_type="application/json")
