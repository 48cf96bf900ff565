"""`sapwood login`: keeps the token for a server."""

import click

from sapwood.cli.command import command as subcommand
from sapwood.cli.invocation import Invocation


@subcommand(
    examples=[
        "sapwood login https://sapwood.example",
        "sapwood login https://sapwood.example < token.txt",
        "sapwood login https://sapwood.example --remove",
    ]
)
@click.argument("address", metavar="URL")
@click.option("--remove", is_flag=True, help="Forget the token for this server.")
@click.pass_obj
def command(invocation: Invocation, address: str, remove: bool) -> None:
    """Sign in to a server with a token.

    Prompts for the token, or reads it from stdin, tests it, and stores it in a file only you can
    read. To create a token, run this on the server: sapwood token new NAME. Then use the server
    with sapwood --server URL, or for every command: sapwood config set server URL
    """
    from sapwood.config.database_address import is_server
    from sapwood_server.client.http_session import forget_login

    if not is_server(address):
        raise click.UsageError("A server address must start with https:// or http://.")
    if remove:
        known = forget_login(address)
        click.echo("Forgotten." if known else "There is no token for this server.", err=True)
        return
    token = _given_token()
    invocation.run(lambda: _sign_in(address, token))


def _given_token() -> str:
    import sys

    if sys.stdin.isatty():
        token: str = click.prompt("Token", hide_input=True, err=True)
    else:
        token = sys.stdin.readline()
    if not token.strip():
        raise click.UsageError(
            "No token was given. To create one, run this on the server: sapwood token new NAME"
        )
    return token.strip()


async def _sign_in(address: str, token: str) -> None:
    from sapwood.app.connection import connect
    from sapwood_server.client.http_session import keep_login

    connection = await connect(address, token=token, opening=5.0)
    space = connection.space
    await connection.close()
    keep_login(address, token)
    click.echo(
        f"Signed in to the space '{space}'. To use it, type: sapwood --server {address}", err=True
    )
