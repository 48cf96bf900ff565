"""The MCP servers of the configuration as `sapwood mcp` shows them, and logins to them."""

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from sapwood.app.assembly import server_toolboxes
from sapwood.config.config_file import Config, McpServer
from sapwood.config.mcp_logins import McpLogins
from sapwood.core.errors import SapwoodError
from sapwood.core.plural import counted
from sapwood.core.refusals import nearest

if TYPE_CHECKING:
    from sapwood.workspace.mcp_client.mcp_toolbox import McpToolbox
    from sapwood.workspace.mcp_client.oauth_login import AskPerson

ServerStatus = Literal["connected", "needs login", "expired", "failed"]
_CONNECT_SECONDS = 15.0
_LOGIN_SECONDS = 300.0


class ServerState(Struct, frozen=True):
    """A configured server, whether it can be used now, and what it says."""

    name: str
    state: ServerStatus
    says: str


async def server_states(servers: Mapping[str, McpServer]) -> list[ServerState]:
    """Connects to every server, lists its tools, and closes the connection."""
    boxes = server_toolboxes(servers, start_timeout=_CONNECT_SECONDS)
    return await asyncio.gather(*map(_state, servers, boxes))


async def log_in_to(
    config: Config, name: str, ask: "AskPerson", *, client_secret: str = "", port: int = 0
) -> ServerState:
    """Logs in to a server, stores the tokens and connects. Raises `SapwoodError`."""
    server = _with_url(config, name)
    if "authorization" in (header.lower() for header in server.headers):
        raise SapwoodError(
            f"The configuration has an Authorization header for MCP server '{name}', which is sent "
            f"instead of a login. Remove it first: sapwood config unset "
            f"servers.{name}.headers.Authorization"
        )
    try:
        from sapwood.workspace.mcp_client.oauth_login import LoginRequest, log_in
    except ModuleNotFoundError as error:
        raise SapwoodError(
            "MCP support is not installed. Type: pip install 'sapwood[mcp]'"
        ) from error
    request = LoginRequest(name, server.url, server.headers, server.client_id, client_secret, port)
    login = await log_in(request, ask, seconds=_LOGIN_SECONDS)
    McpLogins().update(name, lambda _: login)
    (state,) = await server_states({name: server})
    return state


def log_out_of(config: Config, name: str) -> bool:
    """Deletes the tokens of a login. Returns whether there was one.

    Raises `SapwoodError` for a server that is neither configured nor logged in to.
    """
    found: list[bool] = []
    McpLogins().update(name, lambda login: found.append(login is not None))
    if not any(found):
        _with_url(config, name)
    return any(found)


def _with_url(config: Config, name: str) -> McpServer:
    server = config.servers.get(name)
    if server is None:
        close = " or ".join(nearest(name, list(config.servers)))
        instead = f"Did you mean {close}?" if close else "To list them, type: sapwood mcp list"
        raise SapwoodError(f"The configuration has no MCP server '{name}'. {instead}")
    if not server.url:
        raise SapwoodError(
            f"MCP server '{name}' is a program that Sapwood starts. Only servers with a URL have "
            f"a login. A program gets its token from its environment: sapwood config set "
            f"servers.{name}.env.NAME -"
        )
    return server


async def _state(name: str, box: "McpToolbox") -> ServerState:
    try:
        tools = await box.specs()
    finally:
        await box.close()
    if box.login:
        return ServerState(
            name, "expired" if box.login == "expired" else "needs login", box.trouble
        )
    if box.trouble:
        return ServerState(name, "failed", box.trouble)
    return ServerState(name, "connected", box.notice or counted(len(tools), "tool"))
