"""`sapwood open`: the screen, which `sapwood` alone opens too."""

import click

from sapwood.cli.command import command as subcommand
from sapwood.cli.completing import AGENT
from sapwood.cli.invocation import Invocation

__all__ = ["command"]


@subcommand(examples=["sapwood", "sapwood open demo", "sapwood open --inline"])
@click.argument("agent", type=AGENT, required=False)
@click.option("--inline", is_flag=True, help="Print below the prompt, into your own scrollback.")
@click.option("--print", "prints", is_flag=True, help="Print the conversation on leaving.")
@click.pass_obj
def command(invocation: Invocation, agent: str | None, inline: bool, prints: bool) -> None:
    """Open a conversation on the whole screen.

    Without an agent it is the last conversation of this folder, or a new one. On the screen, f1
    explains every key.
    """
    from sapwood.cli.screen import open_screen

    open_screen(invocation, agent or "", inline=inline, prints=prints)
