"""Runs the screen, for the commands that open it."""

from sapwood.cli.invocation import Invocation

__all__ = ["open_screen"]


def open_screen(invocation: Invocation, agent: str = "", *, inline: bool = False) -> None:
    """Runs the screen until the person leaves."""
    from sapwood.tui.opening import open_screen as run_screen
    from sapwood.tui.opening import require_textual

    require_textual()

    async def run() -> None:
        async with invocation.connected() as connection:
            await run_screen(connection, invocation.config, agent, inline=inline)

    invocation.run(run)
