"""`sapwood worker`: runs the agents of a database until it is stopped."""

import logging
import sys
from contextlib import AsyncExitStack
from importlib import import_module
from typing import TYPE_CHECKING

import click

from sapwood.cli.command import HealthPlace, WholeNumber, folder_option
from sapwood.cli.command import command as subcommand
from sapwood.cli.invocation import IN_TURN, Invocation
from sapwood.cli.log_files import log_format_option, log_in, say
from sapwood.core.errors import SapwoodError

if TYPE_CHECKING:
    from sapwood.api.runtime import Runtime
    from sapwood.app.connection import Connection
    from sapwood.config.config_file import Config


_log = logging.getLogger("sapwood.worker")


@subcommand(
    examples=[
        "sapwood worker",
        "sapwood worker --database postgresql://me@localhost/team",
        "sapwood worker --app shop.agents:runtime --spaces '*'",
        "sapwood worker --health 9090 --log-format json",
    ]
)
@click.option(
    "--at-once",
    type=WholeNumber(1),
    metavar="N",
    help="How many agents to run at once, instead of the configured number.",
)
@click.option(
    "--spaces",
    multiple=True,
    metavar="PATTERN",
    help="Spaces to serve, such as '*' or 'acme-*', instead of just one; repeatable.",
)
@folder_option
@click.option(
    "--app",
    metavar="MODULE:NAME",
    help="Run agents with the tools and models of a sapwood.runtime(…) defined in a Python module.",
)
@click.option("--health", type=HealthPlace(), help=HealthPlace.help)
@log_format_option
@click.pass_obj
def command(
    invocation: Invocation,
    at_once: int | None,
    spaces: tuple[str, ...],
    folders: tuple[str, ...],
    app: str | None,
    health: tuple[str, int] | None,
    log_format: str,
) -> None:
    """Run a database's agents until stopped.

    Any number of workers can share a database. Each agent is run by one worker at a time. If a
    worker dies, another takes over its agents. SIGTERM and Ctrl-C stop a worker cleanly: open turns
    stay open, and another worker continues them.

    With --spaces, agents can use only the folders that --folder or the setting 'folders' gives
    their space. Otherwise, they work in the folders of their conversations.
    """
    from msgspec import structs

    from sapwood.config.space_folders import parse_folders, require_separate

    given = parse_folders(folders, invocation.config.folders)
    require_separate(given)
    config = structs.replace(invocation.config, folders=given)
    described = None if app is None else _load(app)
    if (app or spaces) and not config.database:
        raise SapwoodError(
            "No database is configured, so this worker would run the agents of an empty file. Name "
            "the database of your program: --database ADDRESS, or SAPWOOD_DATABASE"
        )
    with log_in(log_format):
        invocation.run(lambda: _work(invocation, config, at_once, spaces, described, health))


async def _work(
    invocation: Invocation,
    config: "Config",
    at_once: int | None,
    spaces: tuple[str, ...],
    described: "Runtime | None",
    health: tuple[str, int] | None,
) -> None:
    from sapwood.app.assembly import exported_metrics
    from sapwood.app.health_server import Health, HealthServer, health_server
    from sapwood.app.removal import retention_in_background
    from sapwood.app.space_runners import SpacePattern
    from sapwood.cli.run.stop_request import stop_on_signals
    from sapwood.config.database_address import shown_address

    pattern = SpacePattern.of(spaces) if spaces else None
    with stop_on_signals() as stop:
        async with (
            invocation.connected(opening=30.0, patience=IN_TURN) as connection,
            AsyncExitStack() as stack,
        ):
            if described is None:
                from sapwood.app.assembly import worker
                from sapwood.config.api_keys import load_keys

                running = worker(connection, config, load_keys(), at_once=at_once, spaces=pattern)
                await stack.enter_async_context(running)
            else:
                await _start(described, connection, config, at_once, spaces, stack)
            stack.enter_context(exported_metrics(config))
            served_spaces = pattern or SpacePattern((config.space,))
            await stack.enter_async_context(
                retention_in_background(
                    *(connection, config.retention, served_spaces.covers),
                    *(config.retention_hours, config.receipt_days),
                )
            )
            if health is not None:
                seen = HealthServer(Health(connection, served_spaces.covers))
                say(_log, await stack.enter_async_context(health_server(seen, *health)))
            served = f"spaces {', '.join(spaces)}" if spaces else f"space {config.space}"
            place = shown_address(config.address)
            say(_log, f"Running the agents of {place}, {served}. Press Ctrl-C to stop.")
            await stop.wait()
            say(_log, "Stopping. Other workers continue the open turns.")


async def _start(
    described: "Runtime",
    connection: "Connection",
    config: "Config",
    at_once: int | None,
    spaces: tuple[str, ...],
    stack: AsyncExitStack,
) -> None:
    from msgspec import structs

    from sapwood.api.database import Sapwood
    from sapwood.app.engines import configured_limits, require_durable_engine

    require_durable_engine(config)
    limits = described.limits or configured_limits(config)
    if at_once is not None:
        limits = structs.replace(limits, per_worker=at_once)
    db = Sapwood(connection)
    runtime = described.on(db, spaces=spaces or None, limits=limits, for_workers=True)
    await stack.enter_async_context(runtime)


def _load(name: str) -> "Runtime":
    """The runtime that `MODULE:NAME` names. Raises `BadParameter` with the reason."""
    from sapwood.api.runtime import Runtime

    module, _, attribute = name.partition(":")
    sys.path.insert(0, "")  # as `python -m` does
    try:
        found: object = getattr(import_module(module), attribute or "runtime")
    except ImportError as error:
        raise click.BadParameter(
            f"{module} cannot be imported: {error}.", param_hint="--app"
        ) from None
    except AttributeError:
        raise click.BadParameter(f"{module} has no {attribute}.", param_hint="--app") from None
    if not isinstance(found, Runtime):
        raise click.BadParameter(
            (
                f"{name} is not a Sapwood runtime. Define it as: {attribute} = "
                "sapwood.runtime(tools=[…])"
            ),
            param_hint="--app",
        )
    return found
