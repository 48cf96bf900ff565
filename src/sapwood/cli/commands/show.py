"""`sapwood show`: a conversation as people read it, or one event whole."""

from typing import TYPE_CHECKING

import click

from sapwood.cli.command import command as subcommand
from sapwood.cli.command import json_option
from sapwood.cli.completing import AGENT
from sapwood.cli.invocation import Invocation

if TYPE_CHECKING:
    from sapwood.app.connection import Connection

__all__ = ["command"]


@subcommand(
    examples=["sapwood show demo", "sapwood show demo --whole", "sapwood show k3h7wq2mzp:12"]
)
@click.argument("place", metavar="AGENT[:VERSION]", type=AGENT)
@click.option("--whole", is_flag=True, help="Do not cut long results of tools.")
@click.option("--everything", is_flag=True, help="Also show what is out of view.")
@json_option("Print the request, or the event, as JSON.")
@click.pass_obj
def command(
    invocation: Invocation, place: str, whole: bool, everything: bool, as_json: bool
) -> None:
    """Show a conversation as the model sees it, or one event.

    A line says where messages left view, and how to bring them back. They stay in the log:
    --everything shows them, sapwood search finds them. With a version, the event at that place is
    shown whole.
    """
    invocation.run(lambda: _show(invocation, place, whole, everything, as_json))


async def _show(
    invocation: Invocation, place: str, whole: bool, everything: bool, as_json: bool
) -> None:
    from sapwood.app.finding import find
    from sapwood.cli.display.conversation import print_conversation
    from sapwood.cli.display.jsons import json_line
    from sapwood.cli.display.origins import origin_lines
    from sapwood.cli.helping import columns
    from sapwood.cli.looking import print_lines
    from sapwood.core.view import view

    async with invocation.connected() as held:
        typed, colon, version = place.rpartition(":")
        if colon and version.isdigit():
            await _event(held, typed, int(version), as_json)
            return
        agent = await find(held, place)
        opened = await held.dispatcher.open(agent)
        if as_json:
            click.echo(json_line(view(opened.state, opened.live)))
        else:
            print_lines(origin_lines(opened.state))
            await print_conversation(held, agent, columns(), whole=whole, everything=everything)


async def _event(held: "Connection", typed: str, version: int, as_json: bool) -> None:
    import msgspec

    from sapwood.app.finding import find
    from sapwood.cli.display.jsons import event_value, json_line
    from sapwood.core.errors import SapwoodError

    agent = await find(held, typed)
    found = await held.log.read(held.space, agent, version, version)
    if not found:
        facts = await held.log.facts(held.space, agent)
        newest = facts.version if facts else 0
        raise SapwoodError(f"The log of {agent} ends at version {newest}.")
    line = json_line(event_value(found[0]))
    click.echo(line if as_json else msgspec.json.format(line, indent=2))
