"""`sapwood worker`: runs the agents of a database until it is stopped."""

import click

from sapwood.cli.command import WholeNumber
from sapwood.cli.command import command as subcommand
from sapwood.cli.invocation import IN_TURN, Invocation

__all__ = ["command"]


@subcommand(examples=["sapwood worker", "sapwood worker --database postgresql://me@localhost/team"])
@click.option(
    "--at-once",
    type=WholeNumber(1),
    metavar="N",
    help="Number of agents to run at once, instead of the configured number.",
)
@click.pass_obj
def command(invocation: Invocation, at_once: int | None) -> None:
    """Run the agents of a database until stopped.

    Any number of workers can share a database. Each agent is run by one worker at a time. If a
    worker dies, another one takes over its agents. SIGTERM and Ctrl-C stop a worker cleanly: open
    turns stay open, and the next worker continues them.
    """
    invocation.run(lambda: _work(invocation, at_once))


async def _work(invocation: Invocation, at_once: int | None) -> None:
    from sapwood.app.assembly import worker
    from sapwood.cli.run.stop_request import stop_on_signals
    from sapwood.config.api_keys import load_keys
    from sapwood.config.database_address import shown_address

    config = invocation.config
    with stop_on_signals() as stop:
        async with (
            invocation.connected(opening=30.0, patience=IN_TURN) as connection,
            worker(connection, config, load_keys(), at_once=at_once),
        ):
            place = shown_address(config.address)
            click.echo(
                f"Running the agents of {place}, space {config.space}. Ctrl-C stops.", err=True
            )
            await stop.wait()
            click.echo("Stopping. Other workers continue the open turns.", err=True)
