"""Every key does what its help says, and every key has a test."""

import os
import signal
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from sapwood.api import Sapwood
from sapwood.app.connection import connect
from sapwood.config.config_file import ScreenConfig, load_config
from sapwood.tui.app import THEMES
from sapwood.tui.find_bar import FindBar
from sapwood.tui.keys import KEYS, Key
from sapwood.tui.sidebar import Sidebar
from sapwood.tui.terminal import edit_text, editor_command
from scripted_model import ModelRequest
from tests.tui.conversations import with_tools
from tests.tui.stage import MODEL, Stage, on_stage, until

Check = Callable[[Stage], Awaitable[None]]


async def opens(stage: Stage, title: str) -> None:
    await stage.sees(title)
    await stage.pilot.press("escape")
    await until(lambda: title not in stage.screen(), shown=stage.screen)


def page(title: str) -> Check:
    async def check(stage: Stage) -> None:
        await opens(stage, title)

    return check


async def hides_the_sidebar(stage: Stage) -> None:
    assert not stage.conversation.query_one(Sidebar).display


async def finds(stage: Stage) -> None:
    assert stage.conversation.query_one(FindBar).display
    await stage.pilot.press(*"file", "space", "2")
    await stage.sees(" of ")
    await stage.pilot.press("enter", "escape")
    assert stage.conversation.composer.has_focus


async def has_scrolled(stage: Stage) -> None:
    assert not stage.transcript.view.follows


async def is_at_the_end(stage: Stage) -> None:
    assert stage.transcript.view.follows


async def has_a_cursor(stage: Stage) -> None:
    assert stage.transcript.cursor is not None


async def has_opened(stage: Stage) -> None:
    await stage.pilot.press("alt+up")
    for _ in range(3):
        row = next(r for r in stage.transcript.page.shown if r.key == stage.transcript.cursor)
        if getattr(row, "kind", "") == "tool":
            break
        await stage.pilot.press("alt+up")
    await stage.pilot.press("alt+o")
    assert stage.transcript.page.opened


async def has_copied(stage: Stage) -> None:
    await stage.sees("5 characters")


async def wears_another_theme(stage: Stage) -> None:
    assert stage.app.theme == THEMES[1].name
    assert load_config().screen.theme == THEMES[1].name  # also at the next start


async def goes_to_the_shell(stage: Stage) -> None:
    assert [os.getpid()] == STOPPED


async def leaves_the_mouse(stage: Stage) -> None:
    await stage.sees("The terminal handles the mouse")


async def has_the_next_mode(stage: Stage) -> None:
    await stage.sees("accept-edits")


async def reads(stage: Stage) -> None:
    assert stage.transcript.has_focus
    await stage.pilot.press("k", "k", "j", "g")
    assert not stage.transcript.view.follows
    await stage.pilot.press("f6")
    assert stage.conversation.composer.has_focus


async def says_how_to_leave(stage: Stage) -> None:
    await stage.sees("again to quit")
    await until(lambda: "again to quit" not in stage.screen(), shown=stage.screen)


async def nothing_happens(stage: Stage) -> None:
    assert stage.app.screen is stage.conversation


async def shows_the_message(stage: Stage) -> None:
    assert stage.app.screen is stage.conversation  # there is none
    stage.conversation.show_message("Marked 'HERE'.")
    await stage.pilot.press("f7")
    await opens(stage, " Message ")


async def says_that_nothing_is_offered(stage: Stage) -> None:
    await stage.sees("There is nothing to bring back")


async def has_written(stage: Stage) -> None:
    assert stage.conversation.composer.text == "written elsewhere"


CHECKS: dict[str, Check] = {
    "interrupt": nothing_happens,
    "leave": says_how_to_leave,
    "suspend": goes_to_the_shell,
    "palette": page("Search for commands"),
    "mode": has_the_next_mode,
    "sidebar": hides_the_sidebar,
    "fold": nothing_happens,
    "find": finds,
    "search": page("Search all conversations"),
    "context": page("LARGEST"),
    "rewind": page("leaves view: 1 turn"),
    "resume": page("Conversations"),
    "help": page("Start a new line"),
    "message": shows_the_message,
    "bring": says_that_nothing_is_offered,
    "history": page("Sent messages"),
    "editor": has_written,
    "mouse": leaves_the_mouse,
    "theme": wears_another_theme,
    "page-up": has_scrolled,
    "page-down": is_at_the_end,
    "end": is_at_the_end,
    "start": has_scrolled,
    "line-up": has_scrolled,
    "line-down": is_at_the_end,
    "block-up": has_a_cursor,
    "block-down": has_a_cursor,
    "block-open": has_opened,
    "block-copy": has_copied,
    "jump-up": nothing_happens,
    "jump-down": is_at_the_end,
    "read": reads,
}


def test_every_key_has_a_check() -> None:
    assert {key.name for key in KEYS} == CHECKS.keys()


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.name)
async def test_a_key_does_what_it_says(key: Key, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("TMUX", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr("sapwood.tui.conversation_screen.edit_text", _written)
    connection = await connect(":memory:")
    agent = await with_tools(Sapwood(connection))
    async with on_stage(agent.id, connection=connection, size=(120, 24)) as stage:
        monkeypatch.setattr(stage.app, "suspend", _not_at_all)
        monkeypatch.setattr("sapwood.tui.app.os.kill", _stop)
        await stage.pilot.press(key.keys.split(",")[0])
        await stage.pilot.pause()
        await CHECKS[key.name](stage)
    await connection.close()


STOPPED: list[int] = []


def _stop(process: int, number: int) -> None:
    assert number == signal.SIGSTOP
    STOPPED.append(process)


async def _written(text: str) -> str:
    return "written elsewhere"


class _not_at_all:  # noqa: N801 (it stands for a method)
    def __enter__(self) -> None: ...
    def __exit__(self, *_: object) -> None: ...


def test_the_help_says_that_the_rewind_picker_also_lists_turns() -> None:
    (rewind,) = [key for key in KEYS if key.name == "rewind"]
    assert "a mark or turn" in rewind.help


async def test_escape_twice_opens_the_rewind_picker() -> None:
    connection = await connect(":memory:")
    agent = await with_tools(Sapwood(connection))
    await agent.mark("HERE")
    await agent.record("Aside?", "Yes, aside.")
    async with on_stage(agent.id, connection=connection) as stage:
        await stage.pilot.press("escape", "escape")
        await stage.sees("leaves view: 1 turn")
        await stage.pilot.press("enter")
        await stage.sees("Rewound to HERE")
    await connection.close()


async def test_keys_can_be_others() -> None:
    connection = await connect(":memory:")
    agent = await with_tools(Sapwood(connection))
    screen = ScreenConfig(keys={"context": "f9"})
    async with on_stage(agent.id, connection=connection, screen=screen) as stage:
        await stage.pilot.press("ctrl+t")
        assert stage.app.screen is stage.conversation
        await stage.pilot.press("f9")
        await stage.sees("LARGEST")
    await connection.close()


async def test_the_editor_is_the_one_of_the_person() -> None:
    assert editor_command({"EDITOR": "ed -s"}) == ["ed", "-s"]
    assert await edit_text("text", {**os.environ, "VISUAL": "false"}) == "text"
    assert await edit_text("text", {**os.environ, "VISUAL": "sed -i s/text/word/"}) == "word"


@pytest.mark.parametrize(
    "editor", ["no-such-editor", "vi '", "rm", "/dev/null"], ids=["missing", "quote", "rm", "file"]
)
async def test_an_editor_that_fails_leaves_the_text_and_says_so(
    editor: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VISUAL", editor)
    async with on_stage() as stage:
        monkeypatch.setattr(stage.app, "suspend", _not_at_all)
        stage.conversation.composer.put("a long draft")
        await stage.pilot.press("ctrl+g")
        await stage.sees("The editor failed: ")
        assert stage.conversation.composer.text == "a long draft"


async def test_a_terminal_that_cannot_be_lent_leaves_the_text_and_says_so() -> None:
    async with on_stage() as stage:
        stage.conversation.composer.put("a long draft")
        await stage.pilot.press("ctrl+g")  # the terminal of a test has no shell
        await stage.sees("The editor failed: ")
        assert stage.conversation.composer.text == "a long draft"


async def test_an_editor_may_write_another_encoding(tmp_path: Path) -> None:
    script = tmp_path / "editor"
    script.write_text("#!/bin/sh\nprintf 'caf\\351' > \"$1\"\n", encoding="utf-8")
    script.chmod(0o755)
    assert await edit_text("cafe", {**os.environ, "VISUAL": str(script)}) == "café"


async def test_a_turn_runs_on_while_the_editor_is_open_and_ctrl_c_is_for_the_editor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened, close, script = tmp_path / "opened", tmp_path / "close", tmp_path / "editor"
    os.mkfifo(close)
    lines = [
        "#!/bin/sh",
        "kill -INT $PPID",
        f": > {opened}",
        f"read _ < {close}",
        'echo new > "$1"',
    ]
    script.write_text("\n".join(lines), encoding="utf-8")
    script.chmod(0o755)
    monkeypatch.setenv("VISUAL", str(script))
    is_opened = threading.Event()

    def wait(_: ModelRequest) -> None:
        is_opened.wait(120)

    async with on_stage() as stage:
        monkeypatch.setattr(stage.app, "suspend", _not_at_all)
        stage.server.replies(["In tall trees."])
        stage.server.script(wait)
        await stage.type("Where do herons nest?")
        stage.conversation.composer.put("old")
        stage.app.post_message(stage.key("ctrl+g"))
        await until(opened.exists)
        is_opened.set()
        timeline = stage.conversation._timeline  # pyright: ignore[reportPrivateUsage]
        await until(lambda: any(row.kind == "reply" for row in timeline.rows))
        assert stage.conversation.composer.text == "old"
        close.write_text("\n", encoding="utf-8")
        await until(lambda: stage.conversation.composer.text == "new")


async def test_a_key_puts_the_command_of_an_offer_into_the_composer() -> None:
    connection = await connect(":memory:")
    agent = await Sapwood(connection).start("demo", model=MODEL)
    await agent.record("How does retry.py wait?", "It doubles the delay.")
    await agent.record("Thanks.", "You are welcome.")
    await agent.clear(1)
    async with on_stage(agent.id, connection=connection, size=(120, 24)) as stage:
        await stage.type("Change retry.py")
        await stage.sees("retry.py is only in turn 1")
        await stage.pilot.press("f8")
        await until(lambda: stage.conversation.composer.text == "/bring 1", shown=stage.screen)
    await connection.close()
