"""The pictures of the guides: small, without paths of a machine, and drawn as the terminal was."""

import re
from pathlib import Path

import pytest
from rich.style import Style

from tests.docs.test_examples import ROOT
from tools.pictures.program_recording import LARGEST
from tools.pictures.svg import GROUND, THEME, moving, still
from tools.pictures.terminal_text import lines_of, with_cursor

PICTURES = sorted((ROOT / "docs" / "images").glob("*.svg"))
RECORDINGS = [path for path in PICTURES if path.stem in ("rewind-claude-code", "rewind-codex")]
_PATH = re.compile(r"/(tmp|home|root|work|Users)/|/var/")


@pytest.mark.parametrize("path", PICTURES, ids=lambda path: path.stem)
def test_a_picture_shows_no_path_of_a_machine(path: Path) -> None:
    assert _PATH.findall(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_a_recording_is_small_and_shows_the_trim_and_its_undo(path: Path) -> None:
    drawn = path.read_text(encoding="utf-8").replace("&#160;", " ")
    assert len(drawn.encode()) <= LARGEST
    for words in ("sapwood clear 2", "I see 2", "sapwood undo", "I see 5"):
        assert words in drawn


def test_both_recordings_are_there() -> None:
    assert len(RECORDINGS) == 2


def test_a_printed_screen_keeps_its_colours_and_its_width() -> None:
    lines = lines_of("\x1b[1;38;2;1;2;3mab\x1b[0m c\n\n\x1b[48;5;237m   \x1b[0m\n", 8)
    assert [line.cell_length for line in lines] == [8, 8, 8]
    first = next(iter(lines[0]))
    assert first.text == "ab"
    assert first.style == Style.parse("bold #010203")
    assert '<rect x="0.0" y="36.0"' in still(lines, "t", GROUND)


def test_a_colour_goes_on_over_the_end_of_a_line() -> None:
    lines = lines_of("\x1b[31ma\nb\x1b[0m\n", 2)
    assert [next(iter(line)).style for line in lines] == [Style.parse("color(1)")] * 2


def test_faint_text_is_darker() -> None:
    (line,) = lines_of("\x1b[2;38;2;200;200;200mfaint\x1b[0m\n", 5)
    style = next(iter(line)).style
    assert style is not None
    assert style.color is not None
    assert not style.dim
    assert 21 < style.color.get_truecolor(THEME).red < 200


def test_the_cursor_is_a_block_in_the_line() -> None:
    (line,) = lines_of("ab\n", 4)
    marked = with_cursor(line, 2)
    assert marked.text == "ab  "
    assert [part.text for part in marked if part.style and part.style.reverse] == [" "]


def test_a_line_of_a_recording_is_shown_in_its_frames_only() -> None:
    one, two = lines_of("one\n", 3), lines_of("two\n", 3)
    drawn = moving([(1.0, one), (3.0, two)], "t", GROUND)
    assert 'values="visible;hidden" keyTimes="0.0000;0.2500"' in drawn
    assert 'values="hidden;visible" keyTimes="0.0000;0.2500"' in drawn
