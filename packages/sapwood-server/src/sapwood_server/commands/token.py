"""`sapwood token`: makes, lists and revokes tokens for `sapwood serve`."""

import click

from sapwood.cli.command import WholeNumber, group
from sapwood.cli.command import command as subcommand
from sapwood.cli.invocation import Invocation
from sapwood.core.plural import counted


@group(
    examples=["sapwood token new laptop --scope read --days 30", "sapwood token ls"],
    invoke_without_command=False,
)
def command() -> None:
    """Create, list and revoke access tokens for the server.

    A token identifies a person or a program. It is shown once and stored only as a hash: with
    PostgreSQL in the database, where every server can check it, otherwise in a file on this
    machine.
    """


@subcommand(examples=["sapwood token new laptop", "sapwood token new bot --scope read --days 7"])
@click.argument("name")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    type=click.Choice(["read", "write", "approve", "admin"]),
    help="Scope to grant; repeatable. Default: read and write.",
)
@click.option("--days", type=WholeNumber(1), metavar="N", help="Number of days until it expires.")
@click.pass_obj
def new(invocation: Invocation, name: str, scopes: tuple[str, ...], days: int | None) -> None:
    """Create a token and print it once.

    NAME is recorded as the actor of every event made with the token. A token is valid for one
    space.
    """
    from sapwood.config.server_tokens import SCOPES, TokenRecord, TokenScope
    from sapwood_server.server_tables import stored_tokens

    named = scopes or ("read", "write")
    wanted: tuple[TokenScope, ...] = tuple(each for each in SCOPES if each in named)
    seconds = (days or 0) * 86_400

    async def create() -> tuple[str, TokenRecord]:
        config = invocation.config
        async with stored_tokens(config) as tokens:
            return await tokens.create(name, config.space, wanted, seconds=seconds)

    value, record = invocation.run(create)
    click.echo(value)
    click.echo(
        f"This token ({record.id}) is shown only once. To revoke it, type: sapwood token revoke "
        f"{record.id}",
        err=True,
    )


@subcommand(examples=["sapwood token ls"])
@click.pass_obj
def ls(invocation: Invocation) -> None:
    """List tokens and signed-in browsers."""

    from sapwood.config.server_tokens import TokenRecord
    from sapwood.display.quantities import clock
    from sapwood.display.text import one_line
    from sapwood_server.server_tables import stored_tokens

    async def read() -> tuple[TokenRecord, ...]:
        async with stored_tokens(invocation.config) as tokens:
            return await tokens.records()

    records = invocation.run(read)
    if not records:
        click.echo("There are no tokens. To create one, type: sapwood token new NAME", err=True)
    for each in records:
        expires = f"until {clock(each.expires * 1_000_000)}" if each.expires else "does not expire"
        name = one_line(each.name) or "this machine"
        scopes = ",".join(each.scopes)
        click.echo(f"{each.id}  {each.kind:<7} {name}  {each.space}  {scopes}  {expires}")


@subcommand(examples=["sapwood token revoke laptop", "sapwood token revoke 3f9a1c2e"])
@click.argument("name")
@click.pass_obj
def revoke(invocation: Invocation, name: str) -> None:
    """Revoke the token with this id, or those with this name in the space.

    They stop working immediately.
    """

    from sapwood.config.server_tokens import TokenRecord
    from sapwood.core.errors import SapwoodError
    from sapwood_server.server_tables import stored_tokens

    async def remove() -> tuple[TokenRecord, ...]:
        async with stored_tokens(invocation.config) as tokens:
            return await tokens.revoke(name, invocation.config.space)

    gone = invocation.run(remove)
    if not gone:
        where = f"in the space '{invocation.config.space}'"
        raise SapwoodError(
            f"There is no token '{name}' {where}. To list them, type: sapwood token ls"
        )
    for each in gone:
        click.echo(
            f"{each.id}  {each.kind:<7} {each.name or 'this machine'}  {each.space}", err=True
        )
    click.echo(f"Revoked {counted(len(gone), 'token')}.")


for _each in (new, ls, revoke):
    command.add_command(_each)
