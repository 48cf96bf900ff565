"""`sapwood search`: searches all conversations."""

import click

from sapwood.cli.command import WholeNumber, json_option
from sapwood.cli.command import command as subcommand
from sapwood.cli.exit_codes import Exit
from sapwood.cli.invocation import Invocation
from sapwood.cli.name_completion import AGENT


@subcommand(examples=["sapwood search heron nests", "sapwood search leak --agent demo -n 5"])
@click.argument("words", nargs=-1, required=True)
@click.option("--agent", "agents", type=AGENT, multiple=True, help="Only this agent; repeatable.")
@click.option("-n", "--limit", default=20, show_default=True, type=WholeNumber(1), metavar="N")
@json_option()
@click.pass_obj
def command(
    invocation: Invocation,
    words: tuple[str, ...],
    agents: tuple[str, ...],
    limit: int,
    as_json: bool,
) -> Exit:
    """Search all conversations.

    Searches all agents and all messages, including those no longer in any model's context. Best
    match first. The exit code is 1 if nothing is found.
    """
    query = " ".join(words)
    return invocation.run(lambda: _search(invocation, query, agents, limit, as_json))


async def _search(
    invocation: Invocation, query: str, typed: tuple[str, ...], limit: int, as_json: bool
) -> Exit:
    from sapwood.app.conversation_service import offline_service
    from sapwood.cli.console import columns, print_lines
    from sapwood.cli.output.answer_text import hit_lines
    from sapwood.cli.output.event_text import facts_value, json_line
    from sapwood.conversation.agent_lookup import find

    async with invocation.connected() as connection:
        among = [await find(connection, each) for each in typed] or None
        service = offline_service(connection, invocation.config)
        hits = (await service.search(query, agents=among, limit=limit)).hits
    if as_json:
        print_lines(json_line(facts_value(hit)) for hit in hits)
    elif hits:
        print_lines(hit_lines(hits, columns()))
    else:
        click.echo("Nothing was found.", err=True)
    return Exit.OK if hits else Exit.FAILED
