"""`sapwood backup`: writes the database into a file, while others use it."""

from pathlib import Path

import click

from sapwood.cli.command import command as subcommand
from sapwood.cli.invocation import Invocation


@subcommand(
    examples=[
        "sapwood backup 2026-11-16.db",
        "sapwood backup team.dump --database postgresql://owner@localhost/team",
    ]
)
@click.argument("file", type=click.Path(path_type=Path))
@click.pass_obj
def command(invocation: Invocation, file: Path) -> None:
    """Back up the whole database to a file.

    Programs and workers keep running, and existing files are never overwritten. For SQLite, the
    backup is an SQLite file: to restore it, open it, or replace the old file with it. For
    PostgreSQL, the backup is made with pg_dump; restore it with pg_restore. Files outside the
    database, such as checkpoints, are not included. After a restore, type: sapwood erase --again
    FILE
    """
    from sapwood.app.backup import back_up
    from sapwood.config.folders import erasures_file

    size = invocation.run(lambda: back_up(invocation.config.address, file.expanduser().absolute()))
    click.echo(f"Wrote {file} ({size:,} bytes).")
    erasures = erasures_file()
    if erasures.exists():
        click.echo(
            f"Keep a copy of {erasures} too: it lists what must be erased again after a restore."
        )
