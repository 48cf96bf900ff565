"""`sapwood fork`: a child that sees what its parent sees."""

import click

from sapwood.cli.command import command as subcommand
from sapwood.cli.completing import AGENT, MARK
from sapwood.cli.invocation import Invocation

__all__ = ["command"]


@subcommand(
    examples=[
        "sapwood fork demo",
        'sapwood fork demo START --name leak --goal "Find the leak."',
    ]
)
@click.argument("agent", type=AGENT)
@click.argument("mark", type=MARK, required=False)
@click.option("-g", "--goal", default="", metavar="TEXT", help="The child's first prompt.")
@click.option("--name", default="", metavar="NAME", help="What to call the child.")
@click.pass_obj
def command(invocation: Invocation, agent: str, mark: str | None, goal: str, name: str) -> None:
    """Make a child that sees what its parent sees.

    From a MARK, it sees what came after it. Nothing is copied, and what the parent does later does
    not change what the child sees. A child with a goal has work to do: a worker takes it up, or
    sapwood run --agent CHILD.
    """
    invocation.run(lambda: _fork(invocation, agent, mark, goal, name))


async def _fork(invocation: Invocation, typed: str, mark: str | None, goal: str, name: str) -> None:
    from sapwood.app.finding import find
    from sapwood.cli.giving import give, giving
    from sapwood.cli.typed import clean
    from sapwood.core.commands import Fork
    from sapwood.runtime.fresh import new_agent_id

    async with giving(invocation) as held:
        agent = await find(held, typed)
        await give(held, Fork(agent, new_agent_id(), mark, clean(goal), name=clean(name)))
