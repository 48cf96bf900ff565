"""Lines as they are written to a terminal, in its own colours and without trailing blanks."""

from functools import lru_cache

from msgspec import Struct
from rich.color import Color
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from sapwood.tui.terminal import without_controls


class TerminalLine(Struct, frozen=True, gc=False):
    """The escape sequences and text of a line, and its width in cells."""

    text: str
    cells: int


class TerminalColours(Struct, frozen=True):
    """The background and text colour of the theme. The terminal's own colours replace them."""

    background: str
    foreground: str
    use_colours: bool = True

    def line(self, strip: Strip, console: Console) -> TerminalLine:
        """A line of the terminal for a strip. Copying it gives exactly the words that it shows."""
        segments = [
            Segment(segment.text, _terminal_style(segment.style or Style.null(), self))
            for segment in without_controls(list(strip))
        ]
        while segments and not _is_seen(segments[-1]):
            segments.pop()
        if segments and not _is_painted(segments[-1].style):
            last = segments.pop()
            segments.append(Segment(last.text.rstrip(" "), last.style))
        trimmed = Strip(segments)
        return TerminalLine(trimmed.render(console), trimmed.cell_length)


@lru_cache(2048)
def _terminal_style(style: Style, colours: TerminalColours) -> Style:
    if not colours.use_colours:
        return style.without_color
    if not _is(style.bgcolor, colours.background):
        return style
    foreground = None if _is(style.color, colours.foreground) else style.color
    return style.without_color + Style.from_color(foreground)


def _is(colour: Color | None, hex: str) -> bool:
    """Whether this is the given colour, or no colour."""
    return colour is None or colour.is_default or colour.get_truecolor().hex == hex.lower()


def _is_seen(segment: Segment) -> bool:
    return bool(segment.text.strip(" ")) or _is_painted(segment.style)


def _is_painted(style: Style | None) -> bool:
    """Whether a blank in this style is visible."""
    return style is not None and bool(style.bgcolor or style.reverse or style.underline)


def rows_of(lines: "list[TerminalLine] | tuple[TerminalLine, ...]", width: int) -> int:
    """How many rows of a terminal these lines take after it wrapped them to a width.

    >>> rows_of([TerminalLine("", 0), TerminalLine("x" * 80, 80), TerminalLine("x" * 81, 81)], 80)
    4
    """
    return sum(max(1, -(-line.cells // width)) for line in lines)
