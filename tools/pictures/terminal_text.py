"""The screen of a terminal, as tmux prints it with its colours, in lines that can be drawn.

Does no I/O.
"""

from collections.abc import Iterable

from rich.ansi import AnsiDecoder
from rich.cells import cell_len
from rich.color import Color, blend_rgb
from rich.color_triplet import ColorTriplet
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from tools.pictures.svg import THEME

_CONSOLE = Console(width=1_000, force_terminal=True, color_system="truecolor")
_FAINT = 0.45
"""How far a faint text is from its colour to that of the background."""


def lines_of(printed: str, columns: int) -> list[Strip]:
    """The lines that `tmux capture-pane -e -p` printed, each as wide as the screen."""
    decoder = AnsiDecoder()
    lines: list[Strip] = []
    for line in printed.removesuffix("\n").split("\n"):
        text = decoder.decode_line(line)
        parts = [
            Segment(part.text, _plain(part.style))
            for part in text.render(_CONSOLE)
            if part.text not in ("", "\n")
        ]
        lines.append(_padded(parts, columns))
    return lines


def with_cursor(line: Strip, column: int) -> Strip:
    """The line with a block at this column."""
    before, at, after = line.divide([column, column + 1, line.cell_length])
    return Strip([*before, *(Segment(part.text, Style(reverse=True)) for part in at), *after])


def _padded(parts: Iterable[Segment], columns: int) -> Strip:
    found = list(parts)
    missing = columns - sum(cell_len(part.text) for part in found)
    return Strip([*found, Segment(" " * missing)] if missing > 0 else found)


def _plain(style: Style | None) -> Style | None:
    """The style with a mixed colour in place of 'faint', which a picture does not have."""
    if style is None or not style.dim:
        return style
    colour = style.color or Color.default()
    fore = colour.get_truecolor(THEME)
    mixed = blend_rgb(fore, ColorTriplet(*THEME.background_color), _FAINT)
    return style + Style(color=Color.from_triplet(mixed), dim=False)
