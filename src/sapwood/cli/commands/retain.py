"""`sapwood retain`: deletes or archives conversations idle for N days."""

from typing import TYPE_CHECKING

import click

from sapwood.cli.command import Number
from sapwood.cli.command import command as subcommand
from sapwood.cli.invocation import Invocation
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
@click.pass_obj
def command(
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
    if erase and archive:
        raise click.UsageError("Give either --erase or --archive, not both.")
    invocation.run(lambda: _retain(invocation, days, label, owner, erase, archive, by))


async def _retain(
    invocation: Invocation,
    days: float,
    label: str,
    owner: str,
    erase: bool,
    archive: str,
    by: str,
) -> None:
    from sapwood.app.retention import is_free, let_go
    from sapwood.core.events import Actor
    from sapwood.lifecycle.erasable_log import erasable
    from sapwood.lifecycle.retention import RetentionRule, idle_conversations

    async with invocation.connected() as connection:
        log, space = erasable(connection.log), connection.space
        found = await idle_conversations(log, space, RetentionRule(days, label, owner))
        free = [each for each in found if is_free(each, archive)]
        for each in found:
            _show(each)
        if archive or erase:
            await let_go(connection, free, archive, by=str(Actor("system", by)))
        done = "archived" if archive else "erased" if erase else "would go"
        click.echo(
            f"{counted(len(free), 'conversation')} {done}, {len(found) - len(free)} left unchanged."
        )


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
