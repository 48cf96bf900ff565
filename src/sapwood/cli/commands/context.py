"""`sapwood context`: what fills an agent's window, and what it cost."""

import click

from sapwood.cli.command import command as subcommand
from sapwood.cli.command import json_option
from sapwood.cli.completing import AGENT
from sapwood.cli.invocation import Invocation

__all__ = ["command"]


@subcommand(examples=["sapwood context demo", "sapwood context demo --json"])
@click.argument("agent", type=AGENT)
@json_option("Print one JSON object.")
@click.pass_obj
def command(invocation: Invocation, agent: str, as_json: bool) -> None:
    """Show what fills an agent's window, and what it cost.

    Counts with a tilde are estimates; they become better with every answer, because providers
    report what they counted.
    """
    invocation.run(lambda: _context(invocation, agent, as_json))


async def _context(invocation: Invocation, typed: str, as_json: bool) -> None:
    from sapwood.app.finding import find
    from sapwood.cli.display.context import Window, context_lines, context_value
    from sapwood.cli.display.jsons import json_line
    from sapwood.cli.helping import columns
    from sapwood.cli.looking import print_lines
    from sapwood.core.budget import budget_of

    async with invocation.connected() as held:
        opened = await held.dispatcher.open(await find(held, typed))
        counter = held.counter_for(opened.state.settings.model)
        budget = budget_of(opened.state, opened.live, counter)
        window = Window(opened.state, opened.live, budget)
    if as_json:
        click.echo(json_line(context_value(window)))
    else:
        print_lines(context_lines(window, columns()))
