"""Opening the screen: on the last conversation of this folder, or on a new one."""

import os
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING

from sapwood.app.config import Config
from sapwood.app.connection import Connection
from sapwood.app.finding import find
from sapwood.app.keys import load_keys
from sapwood.core.errors import SapwoodError
from sapwood.core.ids import AgentId
from sapwood.core.log import Facts

if TYPE_CHECKING:
    from sapwood.tui.app import SapwoodApp

__all__ = ["last_conversation", "open_screen", "require_textual"]

_PAGE = 500
_MOST = 10


def require_textual() -> None:
    """Raises when the extra is missing."""
    if find_spec("textual") is None:
        raise SapwoodError("The screen is not installed. Type: pip install 'sapwood[tui]'")


async def open_screen(
    connection: Connection, config: Config, typed: str = "", *, inline: bool = False
) -> None:
    """Runs the screen until the person leaves."""
    require_textual()
    from sapwood.tui.app import SapwoodApp

    folder = os.getcwd()
    agent = await find(connection, typed) if typed else await last_conversation(connection, folder)
    app = SapwoodApp(connection, config, load_keys(), folder, agent)
    try:
        await app.run_async(inline=inline)
    finally:
        await app.desk.close()
    _say_good_bye(app)


async def last_conversation(connection: Connection, folder: str) -> AgentId | None:
    """The root in this folder that was last written to."""
    best: Facts | None = None
    after: Facts | None = None
    for _ in range(_MOST):
        page = await connection.log.agents(connection.space, after=after, limit=_PAGE)
        for facts in page:
            fits = facts.folder == folder and facts.parent is None and facts.status == "running"
            if fits and not facts.source and (best is None or facts.updated > best.updated):
                best = facts
        if len(page) < _PAGE:
            break
        after = page[-1]
    return best.agent if best else None


def _say_good_bye(app: "SapwoodApp") -> None:
    agent = app.desk.agent
    if agent is not None:
        print(f"Everything is kept. To come back, type: sapwood open {agent}", file=sys.stderr)
    for text in app.desk.queue:
        print(f"Not sent: {' '.join(text.split())}", file=sys.stderr)
