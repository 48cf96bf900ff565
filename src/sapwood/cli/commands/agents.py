"""`sapwood agents`: the list of agents."""

from typing import Literal

import click

from sapwood.cli.command import WholeNumber, in_event_loop, json_option
from sapwood.cli.command import command as subcommand
from sapwood.cli.invocation import Invocation


@subcommand(
    examples=[
        "sapwood agents",
        "sapwood agents --all -n 500",
        "sapwood agents --owner user-42 --order updated",
        "sapwood agents --json | jq .name",
    ]
)
@click.option(
    "-a", "--all", "all_states", is_flag=True, help="Also list archived and killed agents."
)
@click.option("-n", "--limit", default=50, show_default=True, type=WholeNumber(1), metavar="N")
@click.option("--owner", default="", metavar="OWNER", help="Only agents owned by this person.")
@click.option("--label", default="", metavar="LABEL", help="Only agents with this label.")
@click.option(
    "--order",
    default="created",
    show_default=True,
    type=click.Choice(["created", "updated"]),
    help="Sort newest first, by start time or by last event.",
)
@json_option()
@in_event_loop
async def command(
    invocation: Invocation,
    all_states: bool,
    limit: int,
    owner: str,
    label: str,
    order: Literal["created", "updated"],
    as_json: bool,
) -> None:
    """List agents.

    Newest first, each child under its parent. TOKENS is how much history the agent's context holds.
    A tilde marks an estimate.
    """

    from sapwood.app.conversation_service import offline_service
    from sapwood.cli.console import columns, print_lines
    from sapwood.cli.output.agent_list import agents_table
    from sapwood.cli.output.event_text import json_line
    from sapwood.display.json_values import agent_value
    from sapwood.display.quantities import now

    async with invocation.connected() as connection:
        service = offline_service(connection, invocation.config)
        found = await service.list_agents(
            limit=limit + 1,
            all_states=all_states,
            owner=owner,
            label=label,
            order=order,
        )
    agents = found.agents
    shown = agents[:limit]
    if as_json:
        print_lines(json_line(agent_value(summary)) for summary in shown)
        return
    if not agents and (owner or label):
        click.echo(
            (
                "No running agent matches this owner and label. To list all agents, type: sapwood "
                "agents"
            ),
            err=True,
        )
        return
    if not agents:
        click.echo('There are no agents yet. To start one, type: sapwood run -p "Hello!"', err=True)
        return
    print_lines(agents_table(shown, columns(), now()))
    if any(summary.source for summary in shown):
        click.echo(
            "To see how to resume an imported session in its program, type: sapwood show AGENT",
            err=True,
        )
    if len(agents) > limit:
        click.echo(
            f"There are more agents. To list them, type: sapwood agents -n {limit * 10}", err=True
        )
