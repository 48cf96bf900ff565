"""`sapwood worker`: runs the agents of a database until it is stopped."""

import click

from sapwood.cli.command import command as subcommand
from sapwood.cli.invocation import IN_TURN, Invocation
from sapwood.cli.numbers import Whole

__all__ = ["command"]


@subcommand(examples=["sapwood worker", "sapwood worker --database postgresql://me@localhost/team"])
@click.option(
    "--at-once",
    type=Whole(1),
    metavar="N",
    help="Most agents driven at once, instead of the configured number.",
)
@click.pass_obj
def command(invocation: Invocation, at_once: int | None) -> None:
    """Run the agents of a database until stopped.

    Any number of workers share a database: each agent is driven by one at a time, and what a worker
    that dies leaves behind is taken over by another. SIGTERM and Ctrl-C end it cleanly; open turns
    stay open and go on elsewhere, or when a worker is started again.
    """
    invocation.run(lambda: _work(invocation, at_once))


async def _work(invocation: Invocation, at_once: int | None) -> None:
    from sapwood.app.keys import load_keys
    from sapwood.app.opening import shown_address
    from sapwood.app.working import working
    from sapwood.cli.talking.stopping import listening

    config = invocation.config
    with listening() as stop:
        async with (
            invocation.connected(opening=30.0, patience=IN_TURN) as connection,
            working(connection, config, load_keys(), at_once=at_once),
        ):
            place = shown_address(config.address)
            click.echo(f"Working on {place}, space {config.space}. Ctrl-C stops.", err=True)
            await stop.wait()
            click.echo("Stopping. What is under way goes on elsewhere.", err=True)
