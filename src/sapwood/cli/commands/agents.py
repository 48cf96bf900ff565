"""`sapwood agents`: the list of agents."""

import click

from sapwood.cli.command import WholeNumber, json_option
from sapwood.cli.command import command as subcommand
from sapwood.cli.invocation import Invocation

__all__ = ["command"]


@subcommand(
    examples=["sapwood agents", "sapwood agents --all -n 500", "sapwood agents --json | jq .name"]
)
@click.option(
    "-a", "--all", "all_states", is_flag=True, help="Also list archived and killed agents."
)
@click.option("-n", "--limit", default=50, show_default=True, type=WholeNumber(1), metavar="N")
@json_option()
@click.pass_obj
def command(invocation: Invocation, all_states: bool, limit: int, as_json: bool) -> None:
    """List agents.

    Newest first, each child under its parent. TOKENS is the size of the history in the agent's
    context. A tilde means that it is an estimate.
    """
    invocation.run(lambda: _list(invocation, all_states, limit, as_json))


async def _list(invocation: Invocation, all_states: bool, limit: int, as_json: bool) -> None:
    from sapwood.app.conversation_service import offline_service
    from sapwood.cli.console import columns, print_lines
    from sapwood.cli.output.agent_table import agents_table
    from sapwood.cli.output.event_text import facts_value, json_line
    from sapwood.display.quantities import now

    async with invocation.connected() as connection:
        service = offline_service(connection, invocation.config)
        agents = (await service.list_agents(limit=limit + 1, all_states=all_states)).agents
    shown = agents[:limit]
    if as_json:
        print_lines(json_line(facts_value(facts)) for facts in shown)
        return
    if not agents:
        click.echo('There are no agents yet. Type: sapwood run -p "Hello!"', err=True)
        return
    print_lines(agents_table(shown, columns(), now()))
    if any(facts.source for facts in shown):
        click.echo(
            "To see how to resume an imported session in its program, type: sapwood show AGENT",
            err=True,
        )
    if len(agents) > limit:
        click.echo(f"There are more agents. Type: sapwood agents -n {limit * 10}", err=True)
