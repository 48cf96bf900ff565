"""`sapwood show`: shows a conversation, or one whole event."""

from typing import TYPE_CHECKING

import click

from sapwood.cli.command import command as subcommand
from sapwood.cli.command import json_option
from sapwood.cli.invocation import Invocation
from sapwood.cli.name_completion import AGENT

if TYPE_CHECKING:
    from sapwood.app.connection import Connection


@subcommand(
    examples=["sapwood show demo", "sapwood show demo --whole", "sapwood show k3h7wq2mzp:12"]
)
@click.argument("place", metavar="AGENT[:VERSION]", type=AGENT)
@click.option("--whole", is_flag=True, help="Do not shorten long tool results.")
@click.option("--everything", is_flag=True, help="Include messages that the model no longer sees.")
@json_option("Print the request, or the event, as JSON.")
@click.pass_obj
def command(
    invocation: Invocation, place: str, whole: bool, everything: bool, as_json: bool
) -> None:
    """Show a conversation as the model sees it, or one event.

    A line marks where older messages are hidden from the model and says how to bring them back.
    They stay in the log: --everything shows them, and sapwood search finds them. With a version,
    shows that event in full.
    """
    invocation.run(lambda: _show(invocation, place, whole, everything, as_json))


async def _show(
    invocation: Invocation, place: str, whole: bool, everything: bool, as_json: bool
) -> None:
    from sapwood.cli.console import columns, print_lines
    from sapwood.cli.output.conversation_printer import origin_lines, print_conversation
    from sapwood.cli.output.event_text import json_line
    from sapwood.conversation.agent_lookup import find
    from sapwood.conversation.model_requests import request_for

    async with invocation.connected() as connection:
        typed, colon, version = place.rpartition(":")
        if colon and version.isdigit():
            await _event(connection, typed, int(version), as_json)
            return
        agent = await find(connection, place)
        opened = await connection.dispatcher.open(agent)
        if as_json:
            click.echo(json_line(await request_for(connection, opened.state.agent)))
        else:
            print_lines(origin_lines(opened.state))
            await print_conversation(
                connection, agent, columns(), whole=whole, everything=everything
            )


async def _event(connection: "Connection", typed: str, version: int, as_json: bool) -> None:
    import msgspec

    from sapwood.cli.output.event_text import event_value, json_line
    from sapwood.conversation.agent_lookup import find
    from sapwood.core.errors import SapwoodError

    agent = await find(connection, typed)
    found = await connection.log.read(connection.space, agent, version, version)
    if not found:
        facts = await connection.log.facts(connection.space, agent)
        newest = facts.version if facts else 0
        raise SapwoodError(
            f"There is no version {version}: {agent}'s log ends at version {newest}."
        )
    line = json_line(event_value(found[0]))
    click.echo(line if as_json else msgspec.json.format(line, indent=2))
