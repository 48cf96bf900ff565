"""`sapwood route`: sends requests to the cells that have their spaces."""

import logging
from contextlib import AsyncExitStack

import click

from sapwood.cli.command import HealthPlace, listen_options
from sapwood.cli.command import command as subcommand
from sapwood.cli.invocation import Invocation
from sapwood.cli.log_files import log_format_option, log_in, say

_log = logging.getLogger("sapwood.router")


@subcommand(
    examples=[
        "sapwood route --cell a=http://10.0.0.1:8420 --cell b=http://10.0.0.2:8420",
        "sapwood route --cell a=http://a:8420 --directory postgresql://router@db/cells",
    ]
)
@click.option(
    "--cell",
    "cells",
    multiple=True,
    required=True,
    metavar="NAME=URL",
    help="A cell and the address of its servers; repeatable.",
)
@click.option(
    "--directory",
    default="",
    metavar="ADDRESS",
    envvar="SAPWOOD_DIRECTORY",
    help="PostgreSQL database with the table that all routers share.",
)
@listen_options(8410)
@click.option("--health", type=HealthPlace(), help=HealthPlace.help)
@log_format_option
@click.pass_obj
def command(
    invocation: Invocation,
    cells: tuple[str, ...],
    directory: str,
    port: int,
    host: str,
    health: tuple[str, int] | None,
    log_format: str,
) -> None:
    """Send each request to the cell that has its space.

    Requests name their space in the header Sapwood-Space. A new space goes to one of the cells; a
    space that was moved is followed to its new cell. Without --directory, this router remembers
    cells by itself: use it with a list of cells that does not change.
    """
    named = _parsed(cells)
    with log_in(log_format):
        invocation.run(lambda: _route(named, directory, host, port, health))


def _parsed(cells: tuple[str, ...]) -> dict[str, str]:
    named: dict[str, str] = {}
    for each in cells:
        name, _, address = each.partition("=")
        if (
            not name
            or name in ("now", "elsewhere")
            or not address.startswith(("http://", "https://"))
        ):
            raise click.UsageError(f"'{each}' is not a cell. Write it as: --cell NAME=URL")
        named[name] = address
    return named


async def _route(
    cells: dict[str, str],
    directory: str,
    host: str,
    port: int,
    health: tuple[str, int] | None,
) -> None:
    from sapwood.app.health_server import HealthServer, health_server
    from sapwood.app.space_move import open_directory
    from sapwood.cli.run.stop_request import stop_on_signals
    from sapwood_server.http_server import run_application
    from sapwood_server.router import MemoryDirectory, Router, RouterHealth, create_router

    async with AsyncExitStack() as stack:
        table = MemoryDirectory()
        if directory:
            table = await open_directory(directory)
            stack.push_async_callback(table.close)
            await table.enter(cells)
        if health is not None:
            seen = HealthServer(RouterHealth(table))
            say(_log, await stack.enter_async_context(health_server(seen, *health)))
        with stop_on_signals() as stop:
            await run_application(
                create_router(Router(cells, table)),
                host,
                port,
                on_ready=lambda address: say(_log, f"Routing on {address}. Press Ctrl-C to stop."),
                stopped=stop.wait,
            )
