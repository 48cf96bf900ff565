"""`sapwood mcp`: the MCP server, for programs that call tools."""

from typing import TYPE_CHECKING

import click

from sapwood.cli.command import command as subcommand
from sapwood.cli.invocation import Invocation
from sapwood.cli.numbers import Whole

if TYPE_CHECKING:
    from sapwood.mcp_server.offering import Offering

__all__ = ["command"]


@subcommand(examples=["sapwood mcp", "sapwood mcp --http --port 8765", "sapwood mcp --agent demo"])
@click.option("--http", is_flag=True, help="Serve HTTP on 127.0.0.1 instead of stdio.")
@click.option(
    "--port",
    type=Whole(0, 65_535),
    default=8765,
    show_default=True,
    metavar="N",
    help="Where to serve HTTP; 0 takes any that is free.",
)
@click.option(
    "--agent", default="", metavar="AGENT", help="Let the tool slash act for this agent alone."
)
@click.pass_obj
def command(invocation: Invocation, http: bool, port: int, agent: str) -> None:
    """Serve the tools context and slash to other programs, by MCP.

    Over stdio, as programs start it, or over HTTP on this machine alone. Where SAPWOOD_MCP_TOKEN is
    set, HTTP requests must bear that token.
    """
    invocation.run(lambda: _serve(invocation, http, port, agent))


async def _serve(invocation: Invocation, http: bool, port: int, agent: str) -> None:
    from pathlib import Path

    from sapwood.mcp_server.offering import Offering

    offering = Offering(invocation.config, Path.cwd(), agent)
    if http:
        await _serve_http(offering, port)
        return
    from sapwood.mcp_server.protocol import Desk
    from sapwood.mcp_server.stdio import serve_stdio

    await serve_stdio(Desk(offering))


async def _serve_http(offering: "Offering", port: int) -> None:
    import os
    from importlib.util import find_spec

    if find_spec("mcp") is None:
        raise ModuleNotFoundError(
            "Serving HTTP needs a library that is not installed. Type: pip install 'sapwood[mcp]'"
        )
    from sapwood.mcp_server.http import serve_http

    def told(address: str) -> None:
        click.echo(f"Serving MCP on {address}. Ctrl-C stops.", err=True)

    await serve_http(offering, port, told, os.environ.get("SAPWOOD_MCP_TOKEN", ""))
