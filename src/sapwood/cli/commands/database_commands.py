"""`sapwood backup`, `migrate`, `move` and `keys`: the database as a whole, or a whole space."""

from pathlib import Path

import click

from sapwood.cli.command import command as subcommand
from sapwood.cli.command import json_option
from sapwood.cli.exit_codes import Exit
from sapwood.cli.invocation import Invocation
from sapwood.core.plural import counted


@subcommand(
    examples=[
        "sapwood backup 2026-11-16.db",
        "sapwood backup team.dump --database postgresql://owner@localhost/team",
    ]
)
@click.argument("file", type=click.Path(path_type=Path))
@click.pass_obj
def backup_command(invocation: Invocation, file: Path) -> None:
    """Back up the whole database to a file.

    Programs and workers keep running, and existing files are never overwritten. For SQLite, the
    backup is an SQLite file: to restore it, open it, or replace the old file with it. For
    PostgreSQL, the backup is made with pg_dump; restore it with pg_restore. Files outside the
    database, such as checkpoints, are not included. After a restore, type: sapwood erase --again
    FILE
    """
    from sapwood.app.maintenance import back_up
    from sapwood.config.folders import erasures_file

    size = invocation.run(lambda: back_up(invocation.config.address, file.expanduser().absolute()))
    click.echo(f"Wrote {file} ({size:,} bytes).")
    erasures = erasures_file()
    if erasures.exists():
        click.echo(
            f"Keep a copy of {erasures} too: it lists what must be erased again after a restore."
        )


@subcommand(
    examples=[
        "sapwood migrate --database postgresql://owner@localhost/team",
        "sapwood migrate --check",
        "sapwood migrate --print-grants | psql postgresql://owner@localhost/team",
    ]
)
@click.option(
    "--check", is_flag=True, help="Only check whether a migration is needed; exit code 1 if so."
)
@click.option(
    "--print-grants", is_flag=True, help="Print the SQL for least-privilege PostgreSQL roles."
)
@click.pass_obj
def migrate_command(invocation: Invocation, check: bool, print_grants: bool) -> Exit:
    """Upgrade a database to this version of Sapwood.

    For PostgreSQL, run this as the owner of the tables before you start the new version, and after
    a restore. Programs and workers on the previous version keep running. SQLite files need no
    command: the first process of the new version migrates them.
    """
    from sapwood.app.maintenance import grants, migrate_database, migration_state

    if print_grants:
        click.echo(grants(), nl=False)
        return Exit.OK
    address = invocation.config.address
    before, newest = invocation.run(lambda: migration_state(address))
    if check and before < newest:
        click.echo(f"The database has schema {before}; this version needs {newest}.")
        return Exit.FAILED
    if not check:  # the tables of the engine may be missing though the schema is the newest
        invocation.run(lambda: migrate_database(address))
    if before < newest:
        click.echo(f"Migrated from schema {before} to {newest}.")
    else:
        click.echo(f"The database has schema {before} and needs no migration.")
    return Exit.OK


@subcommand(
    examples=[
        "sapwood keys --new ~/sapwood.key",
        "sapwood config set encryption.key_file ~/sapwood.key",
        "sapwood keys",
        "sapwood keys --renew --database postgresql://owner@localhost/team",
    ]
)
@click.option(
    "--new",
    "file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Add a new master key to the top of this file.",
)
@click.option("--renew", is_flag=True, help="Re-encrypt all keys with the first master key.")
@json_option("Print the encrypted spaces as JSON, one object per line.")
@click.pass_obj
def keys_command(invocation: Invocation, file: Path | None, renew: bool, as_json: bool) -> None:
    """List encrypted spaces, or create or rotate the master key.

    Each encrypted space has its own key, which is stored in the database, encrypted with a master
    key. Master keys come from the file in the setting encryption.key_file or from the variable
    SAPWOOD_ENCRYPTION_KEY. The first one encrypts new keys; any of them can decrypt old ones. If
    you lose the master key, you lose the conversations.
    """
    if file is not None and renew:
        raise click.UsageError("Give either --new or --renew, not both.")
    if file is not None:
        _new(file.expanduser())
    elif renew:
        invocation.run(lambda: _renew(invocation))
    else:
        invocation.run(lambda: _list(invocation, as_json))


def _new(file: Path) -> None:
    from sapwood.app.maintenance import add_master_key

    had_keys = add_master_key(file)
    click.echo(f"Wrote a new master key to {file}. Keep a copy of the file in a safe place.")
    if had_keys:
        click.echo("Restart all programs, then type: sapwood keys --renew")
    else:
        click.echo(f"To use it, type: sapwood config set encryption.key_file {file}")


async def _renew(invocation: Invocation) -> None:
    from sapwood.app.maintenance import renew_space_keys

    async with invocation.connected() as connection:
        count = await renew_space_keys(connection.log)
    click.echo(
        f"Re-encrypted {counted(count, 'key')} with the first master key. "
        "You can remove the older master keys."
    )


async def _list(invocation: Invocation, as_json: bool) -> None:
    import msgspec

    from sapwood.app.maintenance import encrypted_spaces

    async with invocation.connected() as connection:
        found = await encrypted_spaces(connection.log)
    if not found and not as_json:
        click.echo("No space is encrypted.")
    for each in found:
        if as_json:
            click.echo(msgspec.json.encode(each).decode())
        else:
            state = "" if each.readable else "  (this machine does not have it)"
            click.echo(f"{each.space}  key {each.key}  master key {each.master}{state}")


@subcommand(
    examples=[
        "sapwood move tenant-7 --database postgresql://owner@a/sapwood --to "
        "postgresql://owner@b/sapwood --cell b",
        "sapwood move tenant-7 --to postgresql://owner@b/sapwood --take-back",
    ]
)
@click.argument("space_name", metavar="SPACE")
@click.option(
    "--to", "target", required=True, metavar="ADDRESS", help="PostgreSQL database to move it to."
)
@click.option(
    "--cell", default="", metavar="NAME", help="Name that routers have for that database."
)
@click.option(
    "--directory",
    default="",
    metavar="ADDRESS",
    help="Database with the table of the routers, instead of the configured one.",
)
@click.option("--take-back", is_flag=True, help="Abandon an interrupted move.")
@json_option("Print the result as JSON.")
@click.pass_obj
def move_command(
    invocation: Invocation,
    space_name: str,
    target: str,
    cell: str,
    directory: str,
    take_back: bool,
    as_json: bool,
) -> None:
    """Move a space to another database while it is in use.

    Copies the space, stops it for at most two seconds, checks the copy by a hash of every log, and
    hands it over. Running turns continue there. If this command is interrupted,
    run it again: it continues. Run it as the owner of the tables of both databases.

    Routers learn from --cell where the space went. With --directory they know it without asking the
    old cell, so that it can be switched off; a router must have been started with that cell. If
    --to names the database that has the space, it stays, and only the table of the routers changes.
    """
    directory = directory or invocation.config.cell.directory
    if directory and not cell and not take_back:
        raise click.UsageError("--directory needs --cell NAME.")
    from sapwood.app.space_move import move_space

    def show(step: str) -> None:
        if not as_json:
            click.echo(f"{_STEPS[step]} …", err=True)

    report = invocation.run(
        lambda: move_space(
            *(invocation.config.address, space_name, target),
            cell=cell,
            directory=directory,
            take_back=take_back,
            on_step=show,
        )
    )
    if as_json:
        import msgspec

        click.echo(msgspec.json.encode(report).decode())
    elif report.outcome == "taken back":
        click.echo(f"The space '{space_name}' stays where it was, and the copy was deleted.")
    elif report.outcome == "entered":
        click.echo(f"Routers now look for the space '{space_name}' in the cell '{cell}'.")
    elif report.outcome == "finished":
        click.echo(f"Finished an earlier move of the space '{space_name}'.")
    else:
        click.echo(
            f"Moved the space '{space_name}': {counted(report.agents, 'agent')}, "
            f"{counted(report.events, 'event')}. It was stopped for {report.pause:.2f} seconds."
        )


_STEPS = {
    "begin": "Starting",
    "copy": "Copying",
    "check": "Comparing every log",
    "stop": "Stopping the space",
    "decide": "Handing it over",
    "open": "Opening it in the new database",
    "clear": "Deleting it from the old database",
}
