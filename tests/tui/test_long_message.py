"""A message that does not fit above the composer says how much is left, and a page shows it."""

import pytest

from sapwood.tui.screens.modal_page import MessagePage
from tests.tui.stage import on_stage, until

LONG = "\n".join(f"line {number}" for number in range(1, 10))


async def test_a_long_message_says_how_many_lines_are_left_and_a_key_shows_them() -> None:
    async with on_stage(size=(100, 30)) as stage:
        stage.conversation.show_message(LONG)
        await stage.sees("… 6 more lines: f7 shows all")
        assert "line 3" in stage.screen()
        assert "line 4" not in stage.screen()
        await stage.pilot.press("f7")
        await until(lambda: isinstance(stage.app.screen, MessagePage), shown=stage.screen)
        await stage.sees("line 9")


@pytest.mark.parametrize("text", ["one\ntwo\nthree\nfour", "word " * 40])
async def test_a_message_that_fits_is_shown_as_it_is(text: str) -> None:
    async with on_stage(size=(100, 30)) as stage:
        stage.conversation.show_refusal(text)
        await stage.sees(text.split()[-1])
        assert "more lines" not in stage.screen()


async def test_a_long_line_counts_by_the_rows_that_it_takes() -> None:
    async with on_stage(size=(60, 30)) as stage:
        stage.conversation.show_message("words " * 60)
        await stage.sees("more lines: f7 shows all")
        rows = [row for row in stage.screen().splitlines() if "words" in row]
        assert len(rows) == 3
