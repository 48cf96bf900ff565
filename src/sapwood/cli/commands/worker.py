"""`sapwood worker`: runs the agents of a database until it is stopped."""

import sys
from contextlib import AsyncExitStack
from importlib import import_module
from typing import TYPE_CHECKING

import click

from sapwood.cli.command import WholeNumber
from sapwood.cli.command import command as subcommand
from sapwood.cli.invocation import IN_TURN, Invocation

if TYPE_CHECKING:
    from sapwood.api.runtime import Runtime
    from sapwood.app.connection import Connection
    from sapwood.config.config_file import Config

__all__ = ["command"]


@subcommand(
    examples=[
        "sapwood worker",
        "sapwood worker --database postgresql://me@localhost/team",
        "sapwood worker --app shop.agents:runtime --spaces '*'",
    ]
)
@click.option(
    "--at-once",
    type=WholeNumber(1),
    metavar="N",
    help="Number of agents to run at once, instead of the configured number.",
)
@click.option(
    "--spaces",
    multiple=True,
    metavar="PATTERN",
    help="Spaces to serve, such as '*' or 'acme-*', instead of one space. May be repeated.",
)
@click.option(
    "--app",
    metavar="MODULE:NAME",
    help="Run agents with the tools and models of a sapwood.runtime(…) in a Python module.",
)
@click.pass_obj
def command(
    invocation: Invocation, at_once: int | None, spaces: tuple[str, ...], app: str | None
) -> None:
    """Run the agents of a database until stopped.

    Any number of workers can share a database. Each agent is run by one worker at a time. If a
    worker dies, another one takes over its agents. SIGTERM and Ctrl-C stop a worker cleanly: open
    turns stay open, and the next worker continues them.
    """
    described = None if app is None else _load(app)
    invocation.run(lambda: _work(invocation, at_once, spaces, described))


async def _work(
    invocation: Invocation,
    at_once: int | None,
    spaces: tuple[str, ...],
    described: "Runtime | None",
) -> None:
    from sapwood.app.space_runners import SpacePattern
    from sapwood.cli.run.stop_request import stop_on_signals
    from sapwood.config.database_address import shown_address

    config = invocation.config
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
            served = f"spaces {', '.join(spaces)}" if spaces else f"space {config.space}"
            place = shown_address(config.address)
            click.echo(f"Running the agents of {place}, {served}. Ctrl-C stops.", err=True)
            await stop.wait()
            click.echo("Stopping. Other workers continue the open turns.", err=True)


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

    require_durable_engine()
    limits = described.limits or configured_limits(config)
    if at_once is not None:
        limits = structs.replace(limits, per_worker=at_once)
    runtime = described.on(Sapwood(connection), spaces=spaces or None, limits=limits)
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
            f"{name} is no runtime. Write: {attribute} = sapwood.runtime(tools=[…])",
            param_hint="--app",
        )
    return found
