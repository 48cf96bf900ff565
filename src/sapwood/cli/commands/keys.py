"""`sapwood keys`: the keys of encrypted spaces, and the master key that protects them."""

from pathlib import Path

import click

from sapwood.cli.command import command as subcommand
from sapwood.cli.command import json_option
from sapwood.cli.invocation import Invocation


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
    help="Put a new master key into this file, before those that it has.",
)
@click.option("--renew", is_flag=True, help="Protect all keys with the first master key.")
@json_option("Print the encrypted spaces as JSON, one object per line.")
@click.pass_obj
def command(invocation: Invocation, file: Path | None, renew: bool, as_json: bool) -> None:
    """List encrypted spaces, make a master key, or change it.

    Each encrypted space has a key of its own, which is stored in the database, encrypted with a
    master key. The setting encryption.key_file or the variable SAPWOOD_ENCRYPTION_KEY names the
    master keys. The first one protects new keys; all of them can open old ones. Who loses the
    master key loses the conversations.
    """
    if file is not None and renew:
        raise click.UsageError("Give one of --new and --renew.")
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
    click.echo(f"Protected {count:,} keys with the first master key. Older ones can be removed.")


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
            state = "" if each.readable else "  (this program does not have it)"
            click.echo(f"{each.space}  key {each.key}  master key {each.master}{state}")
