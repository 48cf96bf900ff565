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
@click.option(
    "--check", is_flag=True, help="Only check whether a migration is needed; exit code 1 if so."
)
@click.option(
    "--print-grants", is_flag=True, help="Print the SQL for least-privilege PostgreSQL roles."
)
@click.pass_obj
def command(invocation: Invocation, check: bool, print_grants: bool) -> Exit:
    """Upgrade a database to this version of Sapwood.

    For PostgreSQL, run this as the owner of the tables before you start the new version. Programs
    and workers on the previous version keep running. SQLite files need no command: the first
    process of the new version migrates them.
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
