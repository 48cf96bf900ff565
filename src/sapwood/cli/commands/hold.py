"""`sapwood hold`: legal holds, which forbid erasure and retention."""

import click

from sapwood.cli.command import command as subcommand
from sapwood.cli.command import json_option
from sapwood.cli.invocation import Invocation
from sapwood.cli.name_completion import AGENT


@subcommand(
    examples=[
        'sapwood hold demo --reason "case 42" --by ada',
        "sapwood hold --all-of-space --space tenant-7",
        "sapwood hold --release k3h7wq2mzp9x --by ada",
        "sapwood hold",
    ]
)
@click.argument("agent", type=AGENT, required=False)
@click.option("--owner", default="", metavar="NAME", help="Hold everything this owner has.")
@click.option("--all-of-space", is_flag=True, help="Hold everything in the space.")
@click.option(
    "--reason", default="", metavar="TEXT", help="Reason, shown to anyone who tries to erase it."
)
@click.option("--by", default="", metavar="NAME", help="Who places or releases the hold.")
@click.option("--release", default="", metavar="HOLD", help="Release the hold with this id.")
@json_option("Print the holds as JSON, one object per line.")
@click.pass_obj
def command(
    invocation: Invocation,
    agent: str | None,
    owner: str,
    all_of_space: bool,
    reason: str,
    by: str,
    release: str,
    as_json: bool,
) -> None:
    """Put a legal hold on a conversation, an owner or a space.

    A hold on an agent covers its whole conversation. Nothing under a hold can be erased, or
    archived by retention, until the hold is released. Without arguments, lists all holds, including
    released ones.
    """
    wanted = [bool(agent), bool(owner), all_of_space, bool(release)]
    if sum(wanted) > 1:
        raise click.UsageError("Give exactly one of AGENT, --owner, --all-of-space or --release.")
    invocation.run(lambda: _hold(invocation, agent or "", owner, reason, by, release, wanted))
    if not any(wanted):
        invocation.run(lambda: _list(invocation, as_json))


async def _hold(
    invocation: Invocation,
    agent: str,
    owner: str,
    reason: str,
    by: str,
    release: str,
    wanted: list[bool],
) -> None:
    from sapwood.conversation.agent_lookup import find
    from sapwood.core.events import Actor
    from sapwood.lifecycle.erasable_log import erasable
    from sapwood.lifecycle.holds import add_hold, release_hold

    if not any(wanted):
        return
    async with invocation.connected() as connection:
        log, space, who = erasable(connection.log), connection.space, str(Actor("human", by))
        if release:
            await release_hold(log, space, release, by=who)
            click.echo(f"Released {release}.")
            return
        subject = await find(connection, agent) if agent else owner
        scope = "agent" if agent else "owner" if owner else "space"
        hold = await add_hold(log, space, scope, subject, by=who, reason=reason)
        click.echo(f"Held: {hold.id}. To release, type: sapwood hold --release {hold.id}")


async def _list(invocation: Invocation, as_json: bool) -> None:
    from datetime import UTC, datetime

    import msgspec

    from sapwood.lifecycle.erasable_log import erasable

    async with invocation.connected() as connection:
        holds = await erasable(connection.log).holds(connection.space)
    if not holds and not as_json:
        click.echo("There are no legal holds.")
    for hold in holds:
        if as_json:
            click.echo(msgspec.json.encode(hold).decode())
            continue
        when = datetime.fromtimestamp(hold.at / 1_000_000, UTC).strftime("%Y-%m-%d %H:%M:%SZ")
        what = f"{hold.scope} {hold.subject}".rstrip()
        why = f": {hold.reason}" if hold.reason else ""
        over = f" (released by {hold.released_by})" if hold.released else ""
        click.echo(f"{when}  {hold.id}  {what} by {hold.by}{why}{over}")
