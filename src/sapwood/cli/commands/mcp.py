"""`sapwood mcp`: runs the MCP server."""

from typing import TYPE_CHECKING

import click

from sapwood.cli.command import WholeNumber
from sapwood.cli.command import command as subcommand
from sapwood.cli.invocation import Invocation

if TYPE_CHECKING:
    from sapwood.mcp_server.catalog import Catalog


@subcommand(examples=["sapwood mcp", "sapwood mcp --http --port 8765", "sapwood mcp --agent demo"])
@click.option("--http", is_flag=True, help="Serve HTTP on 127.0.0.1 instead of stdio.")
@click.option(
    "--port",
    type=WholeNumber(0, 65_535),
    default=8765,
    show_default=True,
    metavar="N",
    help="Port for HTTP; 0 picks a free one.",
)
@click.option(
    "--token-file", default="", metavar="FILE", help="File with the bearer token for HTTP."
)
@click.option("--agent", default="", metavar="AGENT", help="Agent that the slash tool acts on.")
@click.option("--all-projects", is_flag=True, help="Let the context tool read other projects.")
@click.pass_obj
def command(
    invocation: Invocation, http: bool, port: int, token_file: str, agent: str, all_projects: bool
) -> None:
    """Serve the context and slash tools over MCP.

    Serves one project, the current folder, and one agent: the one whose session started the server,
    or the one given by --agent. Callers cannot choose another.

    Serves over stdio, or over HTTP on this machine only. HTTP requests must send a bearer token:
    the one in --token-file or SAPWOOD_MCP_TOKEN, or one that Sapwood creates and stores in a file
    only you can read.
    """

    async def serve() -> None:
        from pathlib import Path

        from sapwood.mcp_server.catalog import Catalog

        catalog = Catalog(invocation.config, Path.cwd(), agent, all_projects=all_projects)
        try:
            if http:
                await _serve_http(catalog, port, token_file)
            else:
                await _serve_stdio(catalog)
        finally:
            await catalog.close()

    invocation.run(serve)


async def _serve_stdio(catalog: "Catalog") -> None:
    from sapwood.mcp_server.mcp_messages import McpResponder, serve_stdio

    await serve_stdio(McpResponder(catalog))


async def _serve_http(catalog: "Catalog", port: int, token_file: str) -> None:
    import os
    import sys
    from importlib.util import find_spec

    if find_spec("starlette") is None or find_spec("uvicorn") is None:
        raise ModuleNotFoundError(
            "Support for MCP over HTTP is not installed. Type: pip install 'sapwood[mcp]'"
        )
    from sapwood.config.server_tokens import find_token
    from sapwood.mcp_server.http_server import serve_http

    token = find_token(os.environ, token_file)

    def print_address(address: str) -> None:
        click.echo(f"Serving MCP on {address}. Press Ctrl-C to stop.", err=True)
        if token.file is not None:
            click.echo(f"The bearer token is in {token.file}.", err=True)
            if sys.stderr.isatty():  # a log file may have other readers
                click.echo(f"Authorization: Bearer {token.value}", err=True)

    await serve_http(catalog, port, print_address, token.value)
