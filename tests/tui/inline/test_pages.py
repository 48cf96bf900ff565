"""Every key and every page of the full screen, below a prompt."""

import pytest

from sapwood.api import Sapwood
from sapwood.app.connection import connect
from sapwood.core.command_table import TABLE
from sapwood.tui.inline.app import page_height
from sapwood.tui.keys import KEYS
from tests.tui.conversations import every_kind
from tests.tui.inline.inline_stage import on_inline_stage
from tests.tui.stage import until

_COMMANDS = ("help", "agents", "switch", "recall", "config", "context", "replay")
_PAGES = ("history", "rewind")
_IDLE = "Message, or / for commands"


@pytest.mark.parametrize("height", [10, 24, 50])
async def test_pages_take_their_lines_and_give_them_back(height: int) -> None:
    connection = await connect(":memory:")
    agent = await every_kind(Sapwood(connection))
    async with on_inline_stage(agent.id, connection=connection, size=(80, height)) as below:
        await below.sees(_IDLE)
        before = below.terminal.everything
        for name in (*_COMMANDS, *_PAGES):
            if name in _COMMANDS:
                await below.app.controller.run(TABLE[name])
            else:
                await below.app.conversation.pages.open(name)
            await below.sees(" esc closes ")
            await below.misses(_IDLE)
            lines = below.terminal.everything
            first = next(n for n, line in enumerate(lines) if line.startswith("╭─  "))
            assert len(lines) - first == page_height(height), below.text
            assert lines[-1].startswith("╰"), below.text
            await below.pilot.press("escape")
            await below.sees(_IDLE)
            assert below.terminal.everything == before, name
    await connection.close()


async def test_the_palette_opens_and_closes() -> None:
    async with on_inline_stage() as below:
        await below.sees(_IDLE)
        before = below.terminal.everything
        await below.pilot.press("ctrl+p")
        await below.sees("Search for commands")
        await below.pilot.press("escape")
        await below.misses("Search for commands")
        assert below.terminal.everything == before


async def test_no_key_is_a_defect() -> None:
    connection = await connect(":memory:")
    agent = await every_kind(Sapwood(connection))
    async with on_inline_stage(agent.id, connection=connection) as below:
        conversation = below.app.conversation
        await below.sees(_IDLE)
        for key in KEYS:
            if key.name in ("editor", "leave", "interrupt"):  # which have tests of their own
                continue
            await below.pilot.press(key.keys.split(",")[0])
            await below.pilot.pause()
            if below.app.screen is not conversation:
                await below.pilot.press("escape")
            await until(lambda: below.app.screen is conversation)
            assert below.app.failure is None, key.name
        await below.sees(_IDLE)
    await connection.close()
