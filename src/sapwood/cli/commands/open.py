"""`sapwood open`: opens the screen. `sapwood` without a command does the same."""

from typing import TYPE_CHECKING

import click

from sapwood.cli.command import command as subcommand
from sapwood.cli.invocation import IN_TURN, Invocation
from sapwood.cli.name_completion import AGENT

if TYPE_CHECKING:
    from sapwood.app.connection import Connection
    from sapwood.tui.launcher import ScreenExit


@subcommand(examples=["sapwood", "sapwood open demo", "sapwood open --with codex"])
@click.argument("agent", type=AGENT, required=False)
@click.option(
    "--with",
    "model",
    default="",
    metavar="NAME",
    help="Use claude-code, codex or this model.",
)
@click.option("--inline", is_flag=True, help="Run inline in the terminal instead of full screen.")
@click.option("--print", "prints", is_flag=True, help="Print the conversation on exit.")
@click.pass_obj
def command(
    invocation: Invocation, agent: str | None, model: str, inline: bool, prints: bool
) -> None:
    """Open a conversation in the terminal UI.

    Without an agent, opens the last conversation in this folder, or a new one. With --with, opens
    the last one if it uses that program or model, otherwise a new one. Press F1 for help.
    """
    open_screen(invocation, agent or "", model, inline=inline, prints=prints)


def open_screen(
    invocation: Invocation,
    agent: str = "",
    model: str = "",
    *,
    inline: bool = False,
    prints: bool = False,
) -> None:
    """Runs the screen until the user exits, then prints how to reopen it.

    `model` answers instead of the configured one. `prints` also prints the conversation.
    """
    from sapwood.tui.launcher import open_screen as run_screen

    async def run() -> None:
        async with invocation.connected(patience=IN_TURN) as connection:
            left = await run_screen(connection, invocation.config, agent, model, inline=inline)
            # An inline screen has printed the conversation already.
            always = invocation.config.screen.print_on_leaving and not inline
            await _print_farewell(connection, left, prints or always)

    invocation.run(run)


async def _print_farewell(connection: "Connection", left: "ScreenExit", prints: bool) -> None:
    if left.agent is None:
        return
    if prints:
        from sapwood.cli.console import columns
        from sapwood.cli.output.conversation_printer import print_conversation

        await print_conversation(connection, left.agent, columns())
    for queued in (await connection.dispatcher.open(left.agent)).state.queue:
        click.echo(f"Queued, not sent yet: {' '.join(queued.text.split())}", err=True)
    server = f" --server {connection.address}" if connection.server else ""
    click.echo(
        f"Everything is saved. To come back, type: sapwood open {left.agent}{server}", err=True
    )
