"""`sapwood erase`: permanently erases conversations, after a preview and a typed confirmation."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sapwood.cli.command import command as subcommand
from sapwood.cli.command import json_option
from sapwood.cli.invocation import Invocation
from sapwood.cli.name_completion import AGENT
from sapwood.core.plural import counted

if TYPE_CHECKING:
    from sapwood.core.erasure import Erasure
    from sapwood.lifecycle.erasure import ErasurePreview


_SHOWN = 20


@subcommand(
    examples=[
        "sapwood erase demo",
        "sapwood erase --owner user-42",
        "sapwood erase --all-of-space --space tenant-7",
        "sapwood erase --list",
        "sapwood erase --again erasures.jsonl",
    ]
)
@click.argument("agents", type=AGENT, nargs=-1)
@click.option("--owner", default="", metavar="NAME", help="Erase all of this owner's agents.")
@click.option("--all-of-space", is_flag=True, help="Erase everything in the space.")
@click.option("--by", default="", metavar="NAME", help="Who requested it; kept in the record.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@click.option(
    "--scrub", is_flag=True, help="Only purge already erased data from the database files."
)
@click.option("--list", "lists", is_flag=True, help="List the space's erasures and exit.")
@click.option(
    "--again",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="After a restore: erase again everything in this list, in all spaces.",
)
@json_option("Print the records as JSON, one object per line.")
@click.pass_obj
def command(
    invocation: Invocation,
    agents: tuple[str, ...],
    owner: str,
    all_of_space: bool,
    by: str,
    yes: bool,
    scrub: bool,
    lists: bool,
    again: tuple[Path, ...],
    as_json: bool,
) -> None:
    """Permanently delete conversations and everything forked from them.

    Shows what would be deleted and asks you to confirm. Afterwards it is gone from every command,
    search, tail, snapshot, checkpoint and database dump. Mail that the conversations sent is
    replaced with [erased] in the recipients' logs. A record remains of when, by whom and how many.
    Earlier backups still contain everything. PostgreSQL keeps deleted rows in its files for a
    while; run --scrub as the owner of the tables to rewrite them.

    Sapwood lists what was erased, with hashes instead of ids, in erasures.jsonl in the data folder,
    or wherever SAPWOOD_ERASURES points. Keep that file with your backups.
    """
    if lists:
        invocation.run(lambda: _list(invocation, as_json))
        return
    if scrub:
        click.echo(
            invocation.run(lambda: _scrub(invocation))
            or "The database files no longer contain erased data."
        )
        return
    if sum(map(bool, (agents, owner, all_of_space, again))) != 1:
        raise click.UsageError(
            "Name the agents to erase, or use one of --owner, --all-of-space or --again."
        )
    if again:
        invocation.run(lambda: _erase_again(invocation, again, by, yes, as_json))
        return
    invocation.run(lambda: _erase(invocation, agents, owner, by, yes, as_json))


async def _erase(
    invocation: Invocation,
    typed: tuple[str, ...],
    owner: str,
    by: str,
    yes: bool,
    as_json: bool,
) -> None:
    from sapwood.app.removal import eraser_for
    from sapwood.conversation.agent_lookup import find
    from sapwood.core.events import Actor

    async with invocation.connected() as connection:
        eraser = eraser_for(connection)
        if typed:
            agents = [await find(connection, each) for each in typed]
        else:
            agents = await (eraser.owned(owner) if owner else eraser.roots())
        preview = await eraser.preview(agents)
        if not preview.agents:
            click.echo("There is nothing to erase.")
            return
        _show(preview)
        if not yes:
            _require_confirmation(owner or (typed[0] if len(typed) == 1 else connection.space))
        scope = "conversation" if typed else "owner" if owner else "space"
        record = await eraser.erase(agents, by=str(Actor("human", by)), scope=scope)
        _print(record, as_json)


async def _erase_again(
    invocation: Invocation, files: tuple[Path, ...], by: str, yes: bool, as_json: bool
) -> None:
    from sapwood.app.removal import eraser_for, find_again
    from sapwood.core.events import Actor

    async with invocation.connected() as connection:
        found = await find_again(connection, files)
        if not found:
            click.echo("Nothing in these lists is in the database.")
            return
        for space, agents in found.items():
            click.echo(
                (
                    f"{space}: the restore brought back {counted(len(agents), 'agent')} that had "
                    "been erased."
                ),
                err=True,
            )
        if not yes:
            _require_confirmation("again")
        refused = False
        for space, agents in found.items():
            eraser = eraser_for(connection.with_space(space))
            free = [each.agent for each in agents if not await eraser.holds_on([each.agent])]
            if free:
                _print(await eraser.erase(free, by=str(Actor("human", by))), as_json)
            for summary in agents:
                if summary.agent not in free:
                    refused = True
                    click.echo(f"{space}: {summary.agent} is under a legal hold.", err=True)
        if refused:
            raise click.ClickException("Conversations under a legal hold were not erased.")


def _show(preview: "ErasurePreview") -> None:
    for summary in preview.agents[:_SHOWN]:
        name = f"  {summary.name}" if summary.name else ""
        click.echo(f"{summary.agent}{name}  {counted(summary.version, 'event')}", err=True)
    if len(preview.agents) > _SHOWN:
        click.echo(f"and {len(preview.agents) - _SHOWN} more", err=True)
    click.echo(
        f"This would erase {counted(len(preview.agents), 'agent')} with "
        f"{counted(preview.events, 'event')}.",
        err=True,
    )
    for summary in preview.receivers[:_SHOWN]:
        click.echo(f"Mail that {summary.agent} received from them becomes [erased].", err=True)


def _require_confirmation(word: str) -> None:
    if not sys.stdin.isatty():
        raise click.UsageError("Nothing was erased. To erase without being asked, add --yes.")
    if click.prompt(f"This cannot be undone. To erase, type {word}", err=True) != word:
        raise click.UsageError("Nothing was erased.")


async def _scrub(invocation: Invocation) -> str:
    from sapwood.lifecycle.erasable_log import erasable

    async with invocation.connected() as connection:
        return await erasable(connection.log).scrub(whole=True)


async def _list(invocation: Invocation, as_json: bool) -> None:
    from sapwood.lifecycle.erasable_log import erasable

    async with invocation.connected() as connection:
        for record in await erasable(connection.log).erasures(connection.space):
            _print(record, as_json)


def _print(record: "Erasure", as_json: bool) -> None:
    from datetime import UTC, datetime

    import msgspec

    if as_json:
        click.echo(msgspec.json.encode(record).decode())
        return
    when = datetime.fromtimestamp(record.at / 1_000_000, UTC).strftime("%Y-%m-%d %H:%M:%SZ")
    state = "" if record.finished else " (not finished)"
    erased = ", ".join(
        counted(number, noun)
        for number, noun in (
            (record.agents, "agent"),
            (record.events, "event"),
            (record.contents, "long text"),
        )
    )
    others = f"; {counted(record.rewritten, 'event')} of other agents rewritten"
    click.echo(
        f"{when}  {record.id}  {record.scope} by {record.by}: {erased} erased"
        f"{others if record.rewritten else ''}{state}"
    )
