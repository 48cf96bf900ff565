"""`sapwood mcp`: runs the MCP server, and lists and logs in to servers whose tools agents use.

For a login it opens a browser, prints the address, and reads a pasted address.
"""

import asyncio
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

import click

from sapwood.cli.command import Command, WholeNumber, group, in_event_loop, json_option
from sapwood.cli.exit_codes import Exit
from sapwood.cli.invocation import Invocation
from sapwood.cli.name_completion import SERVER
from sapwood.core.errors import SapwoodError

if TYPE_CHECKING:
    from sapwood.mcp_server.catalog import Catalog


@group(
    examples=[
        "sapwood mcp",
        "sapwood mcp --http --port 8765",
        "sapwood mcp --agent demo",
        "sapwood mcp list",
        "sapwood mcp login docs",
    ]
)
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
@click.pass_context
def command(
    context: click.Context, http: bool, port: int, token_file: str, agent: str, all_projects: bool
) -> None:
    """Serve the context and slash tools over MCP.

    Serves one project, the current folder, and one agent: the one whose session started the server,
    or the one given by --agent. Callers cannot choose another.

    Serves over stdio, or over HTTP on this machine only. HTTP requests must send a bearer token:
    the one in --token-file or SAPWOOD_MCP_TOKEN, or one that Sapwood creates and stores in a file
    only you can read.

    The subcommands manage external MCP servers whose tools your agents use.
    """
    if context.invoked_subcommand is not None:
        return
    invocation = context.ensure_object(Invocation)

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


@command.command("list", cls=Command, examples=["sapwood mcp list", "sapwood mcp list --json"])
@json_option()
@in_event_loop
async def list_(invocation: Invocation, as_json: bool) -> Exit:
    """List the configured MCP servers, and whether they can be used.

    Connects to each. A server is connected, needs login, has an expired login, or has failed. The
    exit code is 1 if a server is not connected.
    """
    from sapwood.app.mcp_servers import server_states
    from sapwood.cli.console import print_lines
    from sapwood.cli.output.event_text import json_line

    servers = invocation.config.servers
    if not servers and not as_json:
        click.echo(
            "No MCP server is configured. To add one, type: "
            "sapwood config set servers.NAME '{url = \"https://…/mcp\"}'"
        )
    with _without_warnings():
        states = await server_states(servers)
    if as_json:
        print_lines(json_line(state) for state in states)
    else:
        print_lines(f"{each.name}  {each.state}: {each.says}" for each in states)
    return Exit.OK if all(each.state == "connected" for each in states) else Exit.FAILED


@command.command(
    "login",
    cls=Command,
    for_people=True,
    examples=["sapwood mcp login docs", "sapwood mcp login docs --no-browser"],
)
@click.argument("name", type=SERVER)
@click.option(
    "--no-browser",
    is_flag=True,
    help="Open no browser: print the address, and read the one where the browser ends.",
)
@click.option(
    "--client-secret", is_flag=True, help="Ask for the secret of the configured client_id."
)
@click.option(
    "--port",
    type=WholeNumber(0, 65_535),
    default=0,
    metavar="N",
    help="Port of the redirect address, if the client id is registered for one.",
)
@in_event_loop
async def login(
    invocation: Invocation, name: str, no_browser: bool, client_secret: bool, port: int
) -> Exit:
    """Log in to a configured MCP server that asks for it, with OAuth.

    Opens the login page in a browser, and prints its address. If the browser runs on another
    machine, paste the address where it ends. The tokens are stored in a file only you can read,
    and renewed by themselves.
    """
    from sapwood.app.mcp_servers import log_in_to

    secret = ""
    if client_secret:
        secret = str(click.prompt(f"Secret of the client for {name}", hide_input=True, err=True))
    prompt = LoginPrompt(name, opens_browser=not no_browser)
    with _without_warnings():
        state = await log_in_to(
            invocation.config, name, prompt.ask, client_secret=secret.strip(), port=port
        )
    click.echo(f"Logged in to {name}: {state.state}, {state.says}")
    return Exit.OK if state.state == "connected" else Exit.FAILED


@command.command("logout", cls=Command, for_people=True, examples=["sapwood mcp logout docs"])
@click.argument("name", type=SERVER)
@click.pass_obj
def logout(invocation: Invocation, name: str) -> None:
    """Delete the stored login to an MCP server.

    The server is not told. It may list the login in its own settings, where you can revoke it.
    """
    from sapwood.app.mcp_servers import log_out_of

    if log_out_of(invocation.config, name):
        click.echo(f"Deleted the stored login for {name}.")
    else:
        click.echo(f"There is no stored login for {name}.")


@contextmanager
def _without_warnings() -> Generator[None]:
    """Keeps what is printed anyway from being printed as a warning too."""
    import logging

    logger = logging.getLogger("sapwood.workspace.mcp_client")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)


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
    from sapwood.mcp_server.mcp_http import serve_http

    token = find_token(os.environ, token_file)

    def print_address(address: str) -> None:
        click.echo(f"Serving MCP on {address}. Press Ctrl-C to stop.", err=True)
        if token.file is not None:
            click.echo(f"The bearer token is in {token.file}.", err=True)
            if sys.stderr.isatty():  # a log file may have other readers
                click.echo(f"Authorization: Bearer {token.value}", err=True)

    await serve_http(catalog, port, print_address, token.value)


_CHUNK = 65_536


class PastedAddress(Protocol):
    """Takes the address where the browser ended. Raises `SapwoodError` if it is a wrong one."""

    def take(self, address: str) -> None: ...


class LoginPrompt:
    """The prompt for the login to one server."""

    def __init__(self, server: str, *, opens_browser: bool) -> None:
        self._server = server
        self._opens_browser = opens_browser

    async def ask(self, address: str, callback: PastedAddress) -> None:
        """Shows the address. Returns when an address was pasted, or at once if nobody can."""
        click.echo(f"To log in to {self._server}, open this address in a browser:\n\n{address}\n")
        if self._opens_browser:
            await asyncio.to_thread(_open_browser, address)
        if not _can_paste(self._opens_browser):
            return
        click.echo("If the browser runs on another machine, paste the address where it ends:")
        await _read_address(callback)


def _can_paste(opens_browser: bool) -> bool:
    if sys.stdin is None or sys.stdin.closed:
        return False
    return not opens_browser or sys.stdin.isatty()


async def _read_address(callback: PastedAddress) -> None:
    """Reads lines until one is the answer. Raises `SapwoodError` if the input ends before."""
    lines, problem = TypedLines(), ""
    while (line := await lines.next()) is not None:
        if not line.strip():
            continue
        try:
            callback.take(line)
        except SapwoodError as error:
            problem = str(error)
            click.echo(f"{problem} Paste the whole address that the browser shows.", err=True)
        else:
            return
    if problem:
        raise SapwoodError(f"{problem} Nothing was stored.")


class TypedLines:
    """Lines of stdin, read without holding up the event loop."""

    def __init__(self) -> None:
        self._read = b""
        self._is_at_end = False

    async def next(self) -> str | None:
        """The next line; None at the end."""
        while b"\n" not in self._read and not self._is_at_end:
            data = await self._data()
            self._read += data
            self._is_at_end = not data
        line, _, self._read = self._read.partition(b"\n")
        return line.decode("utf-8", "replace") if line or not self._is_at_end else None

    async def _data(self) -> bytes:
        try:
            descriptor = sys.stdin.fileno()
        except OSError:  # not a file
            return sys.stdin.buffer.read()
        loop, ready = asyncio.get_running_loop(), asyncio.Event()
        try:
            loop.add_reader(descriptor, ready.set)
        except OSError:  # a file on a disk is always ready
            return os.read(descriptor, _CHUNK)
        try:
            await ready.wait()
        finally:
            loop.remove_reader(descriptor)
        return os.read(descriptor, _CHUNK)


def _open_browser(address: str) -> None:
    """Opens the browser of the person; none that would take over this terminal."""
    import webbrowser

    try:
        browser = webbrowser.get()
    except webbrowser.Error:
        return
    if type(browser) is webbrowser.GenericBrowser and not os.environ.get("BROWSER"):
        return
    browser.open(address)
