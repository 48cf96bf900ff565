"""`sapwood hook`: the help of the command. `sapwood.cli.main` runs hooks without this import."""

import click

from sapwood.cli.command import command as subcommand
from sapwood.hooks.runner import HOOKS, main


@subcommand(examples=["sapwood hook pre-compact < input.json"])
@click.argument("name", type=click.Choice(HOOKS))
def command(name: str) -> None:
    """Answer a hook or the status line of Claude Code or Codex.

    The plugin that sapwood install adds calls it, with JSON on stdin. The exit code is always 0. To
    see errors, type: sapwood journal
    """
    main(name)
