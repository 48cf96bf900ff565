"""`sapwood mcp`: runs the MCP server."""

from typing import TYPE_CHECKING

import click

from sapwood.cli.command import WholeNumber
from sapwood.cli.command import command as subcommand
from sapwood.cli.invocation import Invocation

if TYPE_CHECKING:
    from sapwood.mcp_server.catalog import Catalog

__all__ = ["command"]


@subcommand(examples=["sapwood mcp", "sapwood mcp --http --port 8765", "sapwood mcp --agent demo"])
@click.option("--http", is_flag=True, help="Serve HTTP on 127.0.0.1 instead of stdio.")
@click.option(
    "--port",
    type=WholeNumber(0, 65_535),
    default=8765,
    show_default=True,
    metavar="N",
    help="The port for HTTP; 0 chooses a free one.",
)
@click.option("--agent", default="", metavar="AGENT", help="Restrict the tool slash to this agent.")
@click.pass_obj
def command(invocation: Invocation, http: bool, port: int, agent: str) -> None:
    """Serve the tools context and slash over MCP.

    Serves over stdio, or over HTTP on this machine only. If SAPWOOD_MCP_TOKEN is set, HTTP requests
    must send that token as a bearer token.
    """
    invocation.run(lambda: _serve(invocation, http, port, agent))


async def _serve(invocation: Invocation, http: bool, port: int, agent: str) -> None:
    from pathlib import Path

    from sapwood.mcp_server.catalog import Catalog

    catalog = Catalog(invocation.config, Path.cwd(), agent)
    if http:
        await _serve_http(catalog, port)
        return
    from sapwood.mcp_server.mcp_messages import McpResponder
    from sapwood.mcp_server.stdio_server import serve_stdio

    await serve_stdio(McpResponder(catalog))


async def _serve_http(catalog: "Catalog", port: int) -> None:
    import os
    from importlib.util import find_spec

    if find_spec("mcp") is None:
        raise ModuleNotFoundError(
            "The library for MCP over HTTP is not installed. Type: pip install 'sapwood[mcp]'"
        )
    from sapwood.mcp_server.http_server import serve_http

    def print_address(address: str) -> None:
        click.echo(f"Serving MCP on {address}. Ctrl-C stops.", err=True)

    await serve_http(catalog, port, print_address, os.environ.get("SAPWOOD_MCP_TOKEN", ""))
