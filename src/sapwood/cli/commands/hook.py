"""`sapwood hook`: what the programs call. `sapwood.cli` answers it before all this is imported."""

import click

from sapwood.app.tending.hooks import HOOKS, main
from sapwood.cli.command import command as subcommand

__all__ = ["command"]


@subcommand(examples=["sapwood hook pre-compact < told.json"])
@click.argument("name", type=click.Choice(HOOKS))
def command(name: str) -> None:
    """Answer a hook or the status line of Claude Code or Codex.

    Called by the plugin that sapwood install brings, with JSON on stdin. Always ends with 0: what
    goes wrong is told by sapwood journal.
    """
    main(name)
