"""`sapwood agents`: the list of agents."""

import click

from sapwood.cli.command import command as subcommand
from sapwood.cli.command import json_option
from sapwood.cli.invocation import Invocation
from sapwood.cli.numbers import Whole

__all__ = ["command"]


@subcommand(
    examples=["sapwood agents", "sapwood agents --all -n 500", "sapwood agents --json | jq .name"]
)
@click.option("-a", "--all", "everyone", is_flag=True, help="Archived and killed ones too.")
@click.option("-n", "--limit", default=50, show_default=True, type=Whole(1), metavar="N")
@json_option()
@click.pass_obj
def command(invocation: Invocation, everyone: bool, limit: int, as_json: bool) -> None:
    """List agents.

    Newest first, each child under its parent. TOKENS is what is in view of an agent's history, with
    a tilde where it is an estimate.
    """
    invocation.run(lambda: _list(invocation, everyone, limit, as_json))


async def _list(invocation: Invocation, everyone: bool, limit: int, as_json: bool) -> None:
    from sapwood.app.conversation_service import offline_service
    from sapwood.cli.display.agents import agents_table
    from sapwood.cli.display.jsons import json_line
    from sapwood.cli.helping import columns
    from sapwood.cli.looking import print_lines
    from sapwood.display.times import now

    async with invocation.connected() as held:
        service = offline_service(held, invocation.config)
        agents = (await service.list_agents(limit=limit + 1, all_states=everyone)).agents
    shown = agents[:limit]
    if as_json:
        print_lines(json_line(facts) for facts in shown)
        return
    if not agents:
        click.echo('There are no agents yet. Type: sapwood run -p "Hello!"', err=True)
        return
    print_lines(agents_table(shown, columns(), now()))
    if any(facts.source for facts in shown):
        click.echo("sapwood show AGENT tells how to resume one where it ran.", err=True)
    if len(agents) > limit:
        click.echo(f"There are more. Type: sapwood agents -n {limit * 10}", err=True)
