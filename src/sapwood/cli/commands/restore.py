"""`sapwood restore`: brings an archived conversation back from object storage."""

import click

from sapwood.cli.command import command as subcommand
from sapwood.cli.invocation import Invocation
from sapwood.cli.name_completion import AGENT


@subcommand(examples=["sapwood restore demo", "sapwood restore --from s3://bucket/a/b.jsonl.gz"])
@click.argument("agent", type=AGENT, required=False)
@click.option(
    "--from",
    "address",
    default="",
    metavar="ADDRESS",
    help="Restore this object, which has no stub.",
)
@click.option("--by", default="", metavar="NAME", help="Who requested it, for the record.")
@click.pass_obj
def command(invocation: Invocation, agent: str | None, address: str, by: str) -> None:
    """Restore an archived conversation from object storage.

    It replaces its stub, with all descendants and the same ids and versions. The object in storage
    is kept. Anyone following events sees them again as new.
    """
    if bool(agent) == bool(address):
        raise click.UsageError("Give an agent, or an object with --from.")
    invocation.run(lambda: _restore(invocation, agent or "", address, by))


async def _restore(invocation: Invocation, typed: str, address: str, by: str) -> None:
    from sapwood.app.archive import restore_agent
    from sapwood.conversation.agent_lookup import find
    from sapwood.core.events import Actor
    from sapwood.core.plural import counted

    async with invocation.connected() as connection:
        agent = await find(connection, typed) if typed else None
        who = str(Actor("human", by))
        agents = await restore_agent(connection, agent, address, by=who)
        click.echo(f"Restored {typed or address}: {counted(agents, 'agent')}.")
