"""`sapwood mcp`: the MCP server, for programs that call tools."""

import click

from sapwood.cli.command import command as subcommand
from sapwood.cli.invocation import Invocation

__all__ = ["command"]


@subcommand(examples=["sapwood mcp", "sapwood mcp --http --port 8765", "sapwood mcp --agent demo"])
@click.option("--http", is_flag=True, help="Serve HTTP on 127.0.0.1 instead of stdio.")
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
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
    import os
    from importlib.util import find_spec
    from pathlib import Path

    if find_spec("mcp") is None:
        raise ModuleNotFoundError(
            "The MCP server needs a library that is not installed. Type: pip install 'sapwood[mcp]'"
        )
    from sapwood.mcp_server.server import make_server
    from sapwood.mcp_server.serving import serve_http, serve_stdio

    server = make_server(invocation.config, Path.cwd(), agent)
    if not http:
        await serve_stdio(server)
        return
    token = os.environ.get("SAPWOOD_MCP_TOKEN", "")

    def told(address: str) -> None:
        click.echo(f"Serving MCP on {address}. Ctrl-C stops.", err=True)

    await serve_http(server, port, told, token)
