"""`sapwood retain`, `restore` and `hold`: what becomes of conversations that nobody uses."""

from typing import TYPE_CHECKING

import click

from sapwood.cli.command import Number, in_event_loop, json_option
from sapwood.cli.command import command as subcommand
from sapwood.cli.invocation import Invocation
from sapwood.cli.name_completion import AGENT
from sapwood.core.plural import counted

if TYPE_CHECKING:
    from sapwood.lifecycle.retention import IdleConversation


@subcommand(
    examples=[
        "sapwood retain --days 90",
        "sapwood retain --days 30 --label trial --erase",
        "sapwood retain --days 365 --archive s3://bucket/conversations",
    ]
)
@click.option("--days", type=Number(0), required=True, help="Idle for longer than this.")
@click.option("--label", default="", metavar="NAME", help="Only conversations with this label.")
@click.option("--owner", default="", metavar="NAME", help="Only this owner's conversations.")
@click.option("--erase", is_flag=True, help="Permanently delete them.")
@click.option(
    "--archive", default="", metavar="ADDRESS", help="Move them to object storage: s3://…, file://…"
)
@click.option("--by", default="retention", metavar="NAME", help="Who requested it, for the record.")
@in_event_loop
async def retain_command(
    invocation: Invocation,
    days: float,
    label: str,
    owner: str,
    erase: bool,
    archive: str,
    by: str,
) -> None:
    """Delete or archive conversations idle for N days.

    Without --erase or --archive, only lists them. A conversation with an open turn is not idle, and
    one under a legal hold is left alone. Workers can do the same from rules in the configuration.
    """

    from sapwood.app.removal import is_free, let_go
    from sapwood.core.events import Actor
    from sapwood.lifecycle.erasable_log import erasable
    from sapwood.lifecycle.retention import RetentionRule, idle_conversations

    if erase and archive:
        raise click.UsageError("Give either --erase or --archive, not both.")

    async with invocation.connected() as connection:
        log, space = erasable(connection.log), connection.space
        found = await idle_conversations(log, space, RetentionRule(days, label, owner))
        free = [each for each in found if is_free(each, archive)]
        for each in found:
            _show(each)
        gone = len(free)
        if archive or erase:
            gone = await let_go(connection, free, archive, by=str(Actor("system", by)))
        done = "archived" if archive else "erased" if erase else "would go"
        click.echo(f"{counted(gone, 'conversation')} {done}, {len(found) - gone} left unchanged.")


def _is_stub(found: "IdleConversation") -> bool:
    from sapwood.lifecycle.archive import archive_address

    return bool(archive_address(found.root))


def _show(found: "IdleConversation") -> None:
    from datetime import UTC, datetime

    when = datetime.fromtimestamp(found.updated / 1_000_000, UTC).strftime("%Y-%m-%d")
    name = f"  {found.root.name}" if found.root.name else ""
    held = "  (held)" if found.held else "  (archived)" if _is_stub(found) else ""
    click.echo(
        f"{when}  {found.root.agent}{name}  {counted(found.agents, 'agent')}{held}", err=True
    )


@subcommand(
    examples=[
        "sapwood restore 4cfa198d --to claude-code",
        "sapwood restore demo",
        "sapwood restore --from s3://bucket/a/b.jsonl.gz",
    ]
)
@click.argument("agent", type=AGENT, required=False, metavar="[SESSION]")
@click.option(
    "--to",
    "program",
    default="",
    metavar="PROGRAM",
    help="Put a deleted session back into claude-code or codex.",
)
@click.option(
    "--from",
    "address",
    default="",
    metavar="ADDRESS",
    help="Restore this object, which has no stub.",
)
@click.option("--by", default="", metavar="NAME", help="Who requested it, for the record.")
@click.pass_obj
def restore_command(
    invocation: Invocation, agent: str | None, program: str, address: str, by: str
) -> None:
    """Put a deleted session back into its program, or restore an archive.

    With --to, SESSION is a session that an agent program deleted and Sapwood imported: its id, or
    its agent. The program lists and resumes it again.

    Otherwise the archived conversation replaces its stub, with all descendants and the same ids and
    versions, and its object in storage is deleted. An object that --from names is kept: another
    space or database may need it. Anyone following events sees the agents again as new.
    """
    if program:
        if not agent or address:
            raise click.UsageError("--to takes a session: sapwood restore SESSION --to PROGRAM")
        invocation.run(lambda: _put_back(invocation, agent, _known_program(program)))
        return
    if bool(agent) == bool(address):
        raise click.UsageError("Give an agent, or an object with --from.")
    invocation.run(lambda: _restore(invocation, agent or "", address, by))


def _known_program(name: str) -> str:
    from sapwood.core.plural import either
    from sapwood.programs.registry import programs_with

    names = [each.name for each in programs_with("provider")]
    if name not in names:
        raise click.UsageError(f"--to takes {either(names)}, not '{name}'.")
    return name


async def _put_back(invocation: Invocation, typed: str, target: str) -> None:
    from sapwood.app.connection import connect
    from sapwood.context_actions.session_restore import restore_session

    async with invocation.connected() as connection:
        done = await restore_session(connection, connect, invocation.config, typed, target)
    for line in done.lines:
        click.echo(line)


async def _restore(invocation: Invocation, typed: str, address: str, by: str) -> None:
    from sapwood.app.removal import restore_agent
    from sapwood.conversation.agent_lookup import find
    from sapwood.core.events import Actor
    from sapwood.core.plural import counted

    async with invocation.connected() as connection:
        agent = await find(connection, typed) if typed else None
        who = str(Actor("human", by))
        agents = await restore_agent(connection, agent, address, by=who)
        click.echo(f"Restored {typed or address}: {counted(agents, 'agent')}.")
        if address:
            click.echo("The object is still in storage. Delete it if nothing else needs it.")


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
def hold_command(
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
    from sapwood.lifecycle.retention import add_hold, release_hold

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
