"""Lines as a terminal gets them: in its own ground and ink, without blanks at their end. Pure."""

from functools import lru_cache

from msgspec import Struct
from rich.color import Color
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

__all__ = ["Line", "Tones", "rows_of"]


class Line(Struct, frozen=True, gc=False):
    """What is written, and how many cells it takes."""

    text: str
    cells: int


class Tones(Struct, frozen=True):
    """Ground and ink of the theme, for which a terminal below a prompt has its own."""

    ground: str
    ink: str
    colours: bool = True

    def line(self, strip: Strip, console: Console) -> Line:
        """A line that copies as the words that it shows."""
        segments = [
            Segment(segment.text, _toned(segment.style or Style.null(), self)) for segment in strip
        ]
        while segments and not _is_seen(segments[-1]):
            segments.pop()
        if segments and not _is_painted(segments[-1].style):
            last = segments.pop()
            segments.append(Segment(last.text.rstrip(" "), last.style))
        trimmed = Strip(segments)
        return Line(trimmed.render(console), trimmed.cell_length)


@lru_cache(2048)
def _toned(style: Style, tones: Tones) -> Style:
    if not tones.colours:
        return style.without_color
    if not _is(style.bgcolor, tones.ground):
        return style
    ink = None if _is(style.color, tones.ink) else style.color
    return style.without_color + Style.from_color(ink)


def _is(colour: Color | None, hex: str) -> bool:
    """Whether this is the colour, or none at all."""
    return colour is None or colour.is_default or colour.get_truecolor().hex == hex.lower()


def _is_seen(segment: Segment) -> bool:
    return bool(segment.text.strip(" ")) or _is_painted(segment.style)


def _is_painted(style: Style | None) -> bool:
    """Whether a blank in this style can be told from none."""
    return style is not None and bool(style.bgcolor or style.reverse or style.underline)


def rows_of(lines: "list[Line] | tuple[Line, ...]", width: int) -> int:
    """How many rows of a terminal these lines take once it has wrapped them to a width.

    >>> rows_of([Line("", 0), Line("x" * 80, 80), Line("x" * 81, 81)], 80)
    4
    """
    return sum(max(1, -(-line.cells // width)) for line in lines)
