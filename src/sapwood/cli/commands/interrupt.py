"""`sapwood interrupt`: an open turn, stopped from outside."""

import click

from sapwood.cli.command import command as subcommand
from sapwood.cli.completing import AGENT
from sapwood.cli.invocation import Invocation

__all__ = ["command"]


@subcommand(examples=["sapwood interrupt demo", 'sapwood interrupt demo --reason "wrong branch"'])
@click.argument("agent", type=AGENT)
@click.option("--reason", default="by the user", metavar="TEXT", help="What the log will say.")
@click.pass_obj
def command(invocation: Invocation, agent: str, reason: str) -> None:
    """Stop an agent's open turn and keep what is there.

    It does not matter which process runs the turn, or whether any does.
    """
    invocation.run(lambda: _interrupt(invocation, agent, reason))


async def _interrupt(invocation: Invocation, typed: str, reason: str) -> None:
    from sapwood.app.finding import find
    from sapwood.cli.giving import give, giving
    from sapwood.core.commands import InterruptTurn

    async with giving(invocation) as held:
        await give(held, InterruptTurn(await find(held, typed), reason))
