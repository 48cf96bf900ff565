"""`sapwood keys`: the keys of encrypted spaces, and the master key that protects them."""

from pathlib import Path

import click

from sapwood.cli.command import command as subcommand
from sapwood.cli.command import json_option
from sapwood.cli.invocation import Invocation
from sapwood.core.plural import counted


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
def command(invocation: Invocation, file: Path | None, renew: bool, as_json: bool) -> None:
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
    from sapwood.app.space_keys import add_master_key

    had_keys = add_master_key(file)
    click.echo(f"Wrote a new master key to {file}. Keep a copy of the file in a safe place.")
    if had_keys:
        click.echo("Restart all programs, then type: sapwood keys --renew")
    else:
        click.echo(f"To use it, type: sapwood config set encryption.key_file {file}")


async def _renew(invocation: Invocation) -> None:
    from sapwood.app.space_keys import renew_space_keys

    async with invocation.connected() as connection:
        count = await renew_space_keys(connection.log)
    click.echo(
        f"Re-encrypted {counted(count, 'key')} with the first master key. "
        "You can remove the older master keys."
    )


async def _list(invocation: Invocation, as_json: bool) -> None:
    import msgspec

    from sapwood.app.space_keys import encrypted_spaces

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
