"""`sapwood migrate`: brings the tables of a database to this version of Sapwood."""

import click

from sapwood.cli.command import command as subcommand
from sapwood.cli.exit_codes import Exit
from sapwood.cli.invocation import Invocation


@subcommand(
    examples=[
        "sapwood migrate --database postgresql://owner@localhost/team",
        "sapwood migrate --check",
        "sapwood migrate --print-grants | psql postgresql://owner@localhost/team",
    ]
)
@click.option("--check", is_flag=True, help="Only say whether it is needed; exit code 1 if it is.")
@click.option(
    "--print-grants", is_flag=True, help="Print SQL for roles of PostgreSQL with few rights."
)
@click.pass_obj
def command(invocation: Invocation, check: bool, print_grants: bool) -> Exit:
    """Bring the tables of a database to this version of Sapwood.

    For PostgreSQL, run it as the owner of the tables, before the new version starts. Programs and
    workers of the version before keep running. An SQLite file needs no command: the first process
    of a new version migrates it.
    """
    from sapwood.app.migration import grants, migrate_database, migration_state

    if print_grants:
        click.echo(grants(), nl=False)
        return Exit.OK
    address = invocation.config.address
    before, newest = invocation.run(lambda: migration_state(address))
    if before >= newest:
        click.echo(f"The database has schema {before}. Nothing to do.")
        return Exit.OK
    if check:
        click.echo(f"The database has schema {before}; this version needs {newest}.")
        return Exit.FAILED
    invocation.run(lambda: migrate_database(address))
    click.echo(f"Migrated from schema {before} to {newest}.")
    return Exit.OK
