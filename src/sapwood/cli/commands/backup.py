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
    """Write the whole database into a file.

    Programs and workers go on meanwhile, and no file is replaced. An SQLite database becomes an
    SQLite file: to restore it, open it, or put it in place of the old one. PostgreSQL is dumped by
    pg_dump: pg_restore restores it. Files outside of the database, such as checkpoints, are not in
    the backup. After a restore, type: sapwood erase --again FILE
    """
    from sapwood.app.backup import back_up
    from sapwood.config.folders import erasures_file

    size = invocation.run(lambda: back_up(invocation.config.address, file.expanduser().absolute()))
    click.echo(f"Wrote {file} ({size:,} bytes).")
    erasures = erasures_file()
    if erasures.exists():
        click.echo(f"Keep a copy of {erasures} too: it says what must be erased after a restore.")
