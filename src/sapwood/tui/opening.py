"""Opening the screen: on the last conversation of this folder, or on a new one."""

import asyncio
import os
import signal
from importlib.util import find_spec

from msgspec import Struct

from sapwood.app.config import Config
from sapwood.app.connection import Connection
from sapwood.app.finding import find
from sapwood.app.keys import load_keys
from sapwood.core.errors import SapwoodError
from sapwood.core.ids import AgentId
from sapwood.tui.notices import noticed

__all__ = ["Left", "last_conversation", "open_screen", "require_textual"]


class Left(Struct, frozen=True):
    """How the screen was left: with whom, and what was queued and never sent."""

    agent: AgentId | None
    unsent: tuple[str, ...] = ()


def require_textual() -> None:
    """Raises when the extra is missing."""
    if find_spec("textual") is None:
        raise SapwoodError("The screen is not installed. Type: pip install 'sapwood[tui]'")


async def open_screen(
    connection: Connection, config: Config, typed: str = "", *, inline: bool = False
) -> Left:
    """Runs the screen until the person leaves. Raises what went wrong inside."""
    require_textual()
    from sapwood.tui.app import SapwoodApp
    from sapwood.tui.terminal import titled

    folder = os.getcwd()
    agent = await find(connection, typed) if typed else await last_conversation(connection, folder)
    kind = SapwoodApp
    if inline:
        if os.name == "nt":
            raise SapwoodError("--inline needs a terminal of Unix. Type: sapwood")
        from sapwood.tui.inline.app import InlineApp

        kind = InlineApp
    app = kind(connection, config, load_keys(), folder, agent)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, app.exit)
    try:
        with noticed(app.notice), titled():
            await app.run_async(inline=inline, mouse=config.screen.mouse)
    finally:
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.remove_signal_handler(number)
        await app.desk.close()
    if app.failure is not None:
        raise app.failure
    return Left(app.desk.agent, tuple(app.desk.queue))


async def last_conversation(connection: Connection, folder: str) -> AgentId | None:
    """The root in this folder that was last written to, here or in the program it comes from."""
    found = await connection.log.conversations(connection.space, folder, limit=1, status="running")
    return found[0].agent if found else None
