"""A picture that the text of the composer names is sent with the prompt, on both screens."""

import base64
import json
from pathlib import Path

import pytest
from textual import events

from sapwood.core.file_part import LARGEST_FILE
from sapwood.tui.app import SapwoodApp
from scripted_model import ScriptedModel
from tests.tui.inline.inline_stage import on_inline_stage
from tests.tui.stage import on_stage, until

GIF = b"GIF89a\2\0\1\0"


@pytest.fixture(autouse=True)
def picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A picture in the current folder."""
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "my [b]dot.gif"
    file.write_bytes(GIF)
    return file


def has_picture(server: ScriptedModel) -> bool:
    """Whether the last request has the picture."""
    body = json.dumps(server.requests[-1].body)
    return base64.b64encode(GIF).decode() in body and "image/gif" in body


async def drop(app: SapwoodApp, path: Path) -> None:
    """Drops a file on the terminal: its path is pasted."""
    app.post_message(events.Paste(f"'{path}'"))
    await until(lambda: app.conversation.composer.text == f'@"{path}" ')


async def test_a_dropped_picture_is_named_in_the_frame_and_sent(picture: Path) -> None:
    async with on_stage() as stage:
        stage.server.replies(["A dot."])
        await drop(stage.app, picture)
        await stage.sees("sends my [b]dot.gif")
        await stage.pilot.press("enter")
        await stage.sees("A dot.")
        assert has_picture(stage.server)
        assert "[image: my [b]dot.gif, image/gif" in stage.text()
        assert "sends" not in stage.screen()


async def test_a_picture_is_sent_from_the_inline_screen(picture: Path) -> None:
    async with on_inline_stage() as stage:
        stage.server.replies(["A dot."])
        await drop(stage.app, picture)
        await stage.sees("sends my [b]dot.gif")
        await stage.pilot.press("enter")
        await stage.sees("A dot.")
        assert has_picture(stage.server)


async def test_a_picture_that_is_too_large_is_refused_and_the_text_stays(picture: Path) -> None:
    with picture.open("r+b") as file:
        file.truncate(LARGEST_FILE + 1)
    async with on_stage() as stage:
        await stage.type(f'What is @"{picture}"?')
        await stage.sees("files can be up to")
        assert stage.conversation.composer.text == f'What is @"{picture}"?'


async def test_a_text_file_is_found_by_a_few_letters_and_sent_with_its_tokens(
    tmp_path: Path,
) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "herons.md").write_text("They nest in trees.\nAnd reeds.\n")
    async with on_stage(folder=str(tmp_path)) as stage:
        stage.server.replies(["In reeds."])
        composer = stage.conversation.composer
        composer.put("Where? @dher")
        await stage.sees("@docs/herons.md")
        await stage.pilot.press("enter")
        assert composer.text == "Where? @docs/herons.md "
        await stage.sees("sends herons.md ~8")
        composer.put("Where? @docs/herons.md:2")
        await stage.sees("sends herons.md:2 ~3")
        await stage.pilot.press("enter")
        await stage.sees("In reeds.")
        sent = json.dumps(stage.server.requests[-1].body)
        assert "And reeds." in sent
        assert "in trees" not in sent
        assert "[file: docs/herons.md:2, text/plain" in stage.text()


async def test_any_other_paste_is_text(picture: Path) -> None:
    async with on_stage() as stage:
        stage.app.post_message(events.Paste(f"Look at {picture.name}"))
        await until(lambda: stage.conversation.composer.text == f"Look at {picture.name}")


async def test_a_name_without_a_file_is_sent_as_text_with_a_hint() -> None:
    async with on_stage() as stage:
        stage.server.replies(["Which one?"])
        await stage.type("Read @nofile.txt")
        await stage.sees("There is no file nofile.txt; it was sent as text.")
        await stage.sees("Which one?")
