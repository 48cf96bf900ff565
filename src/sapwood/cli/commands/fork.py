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
        'sapwood fork --from 4cfa19 --goal "Review what was done."',
    ]
)
@click.argument("agent", type=AGENT, required=False)
@click.argument("mark", type=MARK, required=False)
@click.option("-g", "--goal", default="", metavar="TEXT", help="The child's first prompt.")
@click.option("--name", default="", metavar="NAME", help="What to call the child.")
@click.option(
    "--model", default="", metavar="NAME", help="With --from: another model than its own."
)
@click.option(
    "--from",
    "session",
    default="",
    metavar="SESSION",
    help="Fork a session of another program, by its id or transcript.",
)
@click.pass_obj
def command(
    invocation: Invocation,
    agent: str | None,
    mark: str | None,
    goal: str,
    name: str,
    model: str,
    session: str,
) -> None:
    """Make a child that sees what its parent sees.

    From a MARK, it sees what came after it. Nothing is copied, and what the parent does later does
    not change what the child sees. A child with a goal has work to do: a worker takes it up, or
    sapwood run --agent CHILD. A session of Claude Code, Codex or Gemini CLI is imported first; the
    child sees what that program's model saw last.
    """
    if bool(agent) == bool(session):
        raise click.UsageError("Name the agent to fork, or give a session by --from.")
    if (mark and session) or (model and not session):
        raise click.UsageError("--model goes with --from, and a mark with an agent.")
    if session:
        invocation.run(lambda: _fork_session(invocation, session, goal, name, model))
    else:
        invocation.run(lambda: _fork(invocation, agent or "", mark, goal, name))


async def _fork(invocation: Invocation, typed: str, mark: str | None, goal: str, name: str) -> None:
    from sapwood.app.finding import find
    from sapwood.cli.giving import give, giving
    from sapwood.core.commands import Fork
    from sapwood.runtime.fresh import new_agent_id

    async with giving(invocation) as held:
        agent = await find(held, typed)
        await give(held, Fork(agent, new_agent_id(), mark, goal, name=name))


async def _fork_session(
    invocation: Invocation, session: str, goal: str, name: str, model: str
) -> None:
    import os
    from pathlib import Path

    from sapwood.app.choosing import switch_model
    from sapwood.app.gardening.adopting import Adopter
    from sapwood.app.gardening.sessions import Sessions
    from sapwood.app.keys import load_keys
    from sapwood.cli.giving import giving
    from sapwood.core.errors import RefusedError
    from sapwood.core.refusals import Refusal

    async with giving(invocation) as held:
        adopter = Adopter(held, Sessions(Path.cwd(), invocation.config))
        agent = await adopter.agent_of(session)
        change = None
        if model:
            change = await switch_model(
                held, invocation.config, load_keys(os.environ), model, agent
            )
            if isinstance(change, Refusal):
                raise RefusedError(change)
        child = await adopter.fork(agent, goal=goal, name=name, change=change)
        click.echo(f"Forked. Child: {child} (from {agent})")
