"""How the screen behaves in company: other processes, other terminals, other folders."""

import asyncio
from pathlib import Path

import pytest

from sapwood.api import Sapwood
from sapwood.app.connection import connect
from sapwood.conversation.conversation_list import last_conversation
from sapwood.tui.status_bars import KeyBar
from sapwood.tui.terminal import clipboard_programs
from tests.tui.conversations import every_kind, with_tools
from tests.tui.stage import on_stage, until


async def test_what_another_process_writes_appears(tmp_path: Path) -> None:
    own = await connect(tmp_path / "a.db")
    other = await connect(tmp_path / "a.db")
    agent = await with_tools(Sapwood(own), 1)
    async with on_stage(agent.id, connection=own) as stage:
        elsewhere = await Sapwood(other).find(agent.id)
        await elsewhere.record("From elsewhere?", "Yes, from elsewhere.")
        await stage.sees("Yes, from elsewhere.")
        child = await elsewhere.fork(name="helper")
        await stage.sees("helper")
        await child.send(agent.id, "Done over here.")
        await stage.sees("1 unread mail")
    await other.close()
    await own.close()


async def test_without_colour_nothing_is_coloured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    connection = await connect(":memory:")
    agent = await every_kind(Sapwood(connection))
    async with on_stage(agent.id, connection=connection, size=(80, 40)) as stage:
        for y in range(stage.transcript.size.height):
            for segment in stage.transcript.render_line(y):
                colour = segment.style.color if segment.style else None
                triplet = colour.triplet if colour else None
                assert triplet is None or triplet.red == triplet.green == triplet.blue
    await connection.close()


async def test_narrow_terminals_do_without_the_sidebar() -> None:
    connection = await connect(":memory:")
    agent = await every_kind(Sapwood(connection))
    async with on_stage(agent.id, connection=connection, size=(80, 24)) as stage:
        assert "AGENTS" not in stage.screen()
        await stage.pilot.press("ctrl+b")
        await stage.sees("AGENTS")
    await connection.close()


async def test_a_worker_of_the_screen_ends_before_its_widgets_are_removed() -> None:
    notices: list[int] = []
    async with on_stage() as stage:
        screen = stage.conversation

        async def wait() -> None:
            try:
                await asyncio.Event().wait()
            finally:
                notices.append(len(screen.query("#notice")))

        screen.run_worker(wait())
        await stage.pilot.pause()
    assert notices == [1]


async def test_the_key_bar_is_made_anew_only_when_its_keys_change() -> None:
    async with on_stage() as stage:
        bar = stage.conversation.query_one(KeyBar)
        await until(lambda: len(bar.children) > 0)
        before = [*bar.children]
        await stage.pilot.press("f1")
        await until(lambda: stage.app.screen is not stage.conversation)
        await stage.pilot.press("escape")
        await until(lambda: stage.app.screen is stage.conversation)
        await stage.pilot.pause()
        assert [*bar.children] == before
        stage.app.set_keymap({"help": "f12"})
        await stage.sees("f12 Help")


async def test_the_last_conversation_of_a_folder_is_the_one_last_written_to() -> None:
    connection = await connect(":memory:")
    db = Sapwood(connection)
    first = await db.start("first", folder="here")
    await db.start("second", folder="here")
    await db.start("elsewhere", folder="there")
    await first.record("Again?", "Again.")
    assert await last_conversation(connection, "here") == first.id
    assert await last_conversation(connection, "nowhere") is None
    await connection.close()


def test_copying_over_ssh_asks_no_clipboard_of_the_other_machine() -> None:
    found = clipboard_programs({"SSH_CONNECTION": "x", "DISPLAY": ":0", "WAYLAND_DISPLAY": "w"})
    assert not [command for _, command in found if command[0] in ("xclip", "xsel", "wl-copy")]
