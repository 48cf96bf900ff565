"""Runs the screen, for the commands that open it, and says good-bye where people look next."""

from typing import TYPE_CHECKING

import click

from sapwood.cli.invocation import IN_TURN, Invocation

if TYPE_CHECKING:
    from sapwood.app.connection import Connection
    from sapwood.tui.opening import Left

__all__ = ["open_screen"]


def open_screen(
    invocation: Invocation, agent: str = "", *, inline: bool = False, prints: bool = False
) -> None:
    """Runs the screen until the person leaves; `prints` the conversation then."""
    from sapwood.tui.opening import open_screen as run_screen
    from sapwood.tui.opening import require_textual

    require_textual()

    async def run() -> None:
        async with invocation.connected(patience=IN_TURN) as connection:
            left = await run_screen(connection, invocation.config, agent, inline=inline)
            # Inline, it stands there already.
            always = invocation.config.screen.print_on_leaving and not inline
            await _say_good_bye(connection, left, prints or always)

    invocation.run(run)


async def _say_good_bye(connection: "Connection", left: "Left", prints: bool) -> None:
    if left.agent is None:
        return
    if prints:
        from sapwood.cli.display.conversation import print_conversation
        from sapwood.cli.helping import columns

        await print_conversation(connection, left.agent, columns())
    for text in left.unsent:
        click.echo(f"Not sent: {' '.join(text.split())}", err=True)
    click.echo(f"Everything is kept. To come back, type: sapwood open {left.agent}", err=True)
