"""`sapwood hook`: the help of the command. `sapwood.cli.main` runs hooks without this import."""

import click

from sapwood.cli.command import command as subcommand
from sapwood.hooks.runner import HOOKS, main


@subcommand(examples=["sapwood hook pre-compact < input.json"])
@click.argument("name", type=click.Choice(HOOKS))
def command(name: str) -> None:
    """Handle a hook or status line call from Claude Code or Codex.

    Called by the plugin that sapwood install adds, with JSON on stdin. The exit code is always 0.
    To see errors, type: sapwood journal
    """
    main(name)
