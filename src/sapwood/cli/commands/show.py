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
@json_option("Print the request, or the event, as JSON.")
@click.pass_obj
def command(invocation: Invocation, place: str, whole: bool, as_json: bool) -> None:
    """Show a conversation as the model sees it, or one event.

    What was cleared, rewound or compacted away is out of view, and still there: sapwood log shows
    it, sapwood search finds it. With a version, the event at that place is shown whole.
    """
    invocation.run(lambda: _show(invocation, place, whole, as_json))


async def _show(invocation: Invocation, place: str, whole: bool, as_json: bool) -> None:
    from sapwood.cli.display.jsons import json_line
    from sapwood.cli.display.origins import origin_lines
    from sapwood.cli.display.turns import conversation
    from sapwood.cli.helping import columns
    from sapwood.cli.looking import print_lines
    from sapwood.conversation.agent_lookup import find
    from sapwood.conversation.model_requests import request_for

    async with invocation.connected() as held:
        typed, colon, version = place.rpartition(":")
        if colon and version.isdigit():
            await _event(held, typed, int(version), as_json)
            return
        opened = await held.dispatcher.open(await find(held, place))
        if as_json:
            click.echo(json_line(await request_for(held, opened.state.agent)))
        else:
            print_lines(origin_lines(opened.state))
            print_lines(conversation(opened.live, columns(), whole=whole))


async def _event(held: "Connection", typed: str, version: int, as_json: bool) -> None:
    import msgspec

    from sapwood.cli.display.jsons import event_value, json_line
    from sapwood.conversation.agent_lookup import find
    from sapwood.core.errors import SapwoodError

    agent = await find(held, typed)
    found = await held.log.read(held.space, agent, version, version)
    if not found:
        facts = await held.log.facts(held.space, agent)
        newest = facts.version if facts else 0
        raise SapwoodError(f"The log of {agent} ends at version {newest}.")
    line = json_line(event_value(found[0]))
    click.echo(line if as_json else msgspec.json.format(line, indent=2))
