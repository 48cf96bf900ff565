"""Lines in the terminal's own background and foreground, which copy as the words that they show."""

from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from sapwood.tui.inline.scrollback import TerminalColours, TerminalLine

_CONSOLE = Console(color_system="truecolor", force_terminal=True)
_COLOURS = TerminalColours("#15171a", "#dcd8cc")


def _line(*parts: tuple[str, str], colours: TerminalColours = _COLOURS) -> TerminalLine:
    strip = Strip([Segment(text, Style.parse(style)) for text, style in parts])
    return colours.line(strip, _CONSOLE)


def test_the_ground_of_the_theme_is_left_to_the_terminal() -> None:
    assert _line(("words", "#dcd8cc on #15171a"), ("   ", "on #15171a")) == TerminalLine("words", 5)


def test_blanks_at_the_end_are_not_written() -> None:
    assert _line(("words   ", ""), ("   ", "#ff0000")) == TerminalLine("words", 5)
    assert _line(("   ", "")) == TerminalLine("", 0)


def test_what_stands_out_keeps_its_ground_and_its_ink() -> None:
    line = _line(("lit", "#dcd8cc on #ff0000"), ("  ", "on #ff0000"))
    assert line.cells == 5
    assert "48;2;255;0;0" in line.text
    assert "38;2;220;216;204" in line.text
    assert "\x1b[7m" in _line((" ", "reverse")).text


def test_without_colours_only_weight_is_left() -> None:
    line = _line(
        ("bold", "bold #ff0000 on #00ff00"), colours=TerminalColours("", "", use_colours=False)
    )
    assert line.text == "\x1b[1mbold\x1b[0m"
