"""`sapwood search`: everything ever said."""

import click

from sapwood.cli.command import command as subcommand
from sapwood.cli.command import json_option
from sapwood.cli.completing import AGENT
from sapwood.cli.exits import Exit
from sapwood.cli.invocation import Invocation
from sapwood.cli.numbers import Whole

__all__ = ["command"]


@subcommand(examples=["sapwood search heron nests", "sapwood search leak --agent demo -n 5"])
@click.argument("words", nargs=-1, required=True)
@click.option("--agent", "agents", type=AGENT, multiple=True, help="Only there; repeatable.")
@click.option("-n", "--limit", default=20, show_default=True, type=Whole(1), metavar="N")
@json_option()
@click.pass_obj
def command(
    invocation: Invocation,
    words: tuple[str, ...],
    agents: tuple[str, ...],
    limit: int,
    as_json: bool,
) -> Exit:
    """Search everything ever said.

    By all agents, in view or not, best first. Ends with 1 when nothing is found.
    """
    query = " ".join(words)
    return invocation.run(lambda: _search(invocation, query, agents, limit, as_json))


async def _search(
    invocation: Invocation, query: str, typed: tuple[str, ...], limit: int, as_json: bool
) -> Exit:
    from sapwood.app.finding import find
    from sapwood.cli.display.hits import hit_lines
    from sapwood.cli.display.jsons import json_line
    from sapwood.cli.helping import columns
    from sapwood.cli.looking import print_lines

    async with invocation.connected() as held:
        among = [await find(held, each) for each in typed] or None
        hits = await held.log.search(held.space, query, agents=among, limit=limit)
    if as_json:
        print_lines(json_line(hit) for hit in hits)
    elif hits:
        print_lines(hit_lines(hits, columns()))
    else:
        click.echo("Nothing was found.", err=True)
    return Exit.OK if hits else Exit.FAILED
