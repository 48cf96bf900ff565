"""Writes printed lines and a live area below them to a terminal. It returns strings only.

The cursor moves only relative to its place, so the terminal has to report it only after a change of
size. Lines are overwritten and erased one by one: a terminal that erases its whole screen may keep
a copy of it in the scrollback, as tmux does.

Lines as they are written to a terminal, in its own colours and without trailing blanks.
"""

from collections import deque
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Generic, TypeVar

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


T = TypeVar("T")

_BEGIN, _END = "\x1b[?2026h", "\x1b[?2026l"
"""A synchronized update: the terminal shows it as a whole."""

_CUT, _WRAP = "\x1b[?7l", "\x1b[?7h"
"""Turns line wrapping off for the live area, and on for printed lines."""

_ERASE = "\x1b[2K"
"""Erases a whole line. tmux keeps the old length of a line if only its end is erased."""

_BLANK = TerminalLine("", 0)
_KEPT = 400
"""How many printed items are remembered: more than any terminal is high."""


class Scrollback(Generic[T]):
    """Prints items above a live area.

    After a change of the width, `print_again` gets the items that have to be printed again.
    """

    def __init__(self) -> None:
        self.print_again: Callable[[list[T]], None] = lambda items: None
        self._pending: list[tuple[T, tuple[TerminalLine, ...]]] = []
        self._printed: deque[tuple[T, tuple[TerminalLine, ...]]] = deque(maxlen=_KEPT)
        self._live: tuple[TerminalLine, ...] = ()
        self._cursor = (0, 0)
        self._size = (0, 0)
        self._erase_first = ""

    def print(self, item: T, lines: Sequence[TerminalLine]) -> None:
        """Adds an item to the next frame."""
        self._pending.append((item, tuple(lines)))

    def fits(self, size: tuple[int, int]) -> bool:
        """Whether the last frame was drawn for this size of the terminal."""
        return self._size in ((0, 0), size)

    def frame(
        self, live: Sequence[TerminalLine], cursor: tuple[int, int], size: tuple[int, int]
    ) -> str:
        """The text to write in order to replace the last frame by this one."""
        self._size = size
        cursor = (
            cursor[0],
            max(0, min(cursor[1], len(live) - 1)),
        )  # the cursor may be that of an earlier, higher live area
        erase_first, self._erase_first = self._erase_first, ""
        pending, self._pending = self._pending, []
        self._printed.extend(pending)
        printed = [line for _, lines in pending for line in lines]
        if not (erase_first or printed) and (tuple(live), cursor) == (self._live, self._cursor):
            return ""
        written = erase_first + self._written(printed, live, cursor)
        self._live, self._cursor = tuple(live), cursor
        return f"{_BEGIN}{written}{_END}"

    def removed(self) -> str:
        """The text to write in order to remove the live area, with the cursor at its start."""
        last = [line for _, lines in self._pending for line in lines]
        self._pending.clear()
        written = self._erase_first + self._written([*last, _BLANK], [], (0, -1))
        self._live, self._cursor, self._erase_first = (), (0, 0), ""
        return f"{_BEGIN}{written}{_END}"

    def _written(
        self, printed: Sequence[TerminalLine], live: Sequence[TerminalLine], cursor: tuple[int, int]
    ) -> str:
        before, lines = self._live, [*printed, *live]
        parts = ["\r", _up(self._cursor[1])]
        for number, line in enumerate(lines):
            parts.append("\r\n" if number else "")
            parts.append(_CUT if number == len(printed) else "")
            was = before[number] if number < len(before) else _BLANK
            if was != line:
                parts += [_ERASE if was.cells > line.cells else "", line.text]
        parts += [f"\r\n{_ERASE}"] * (len(before) - len(lines))
        x, y = cursor[0], len(printed) + cursor[1]
        parts += [_WRAP, "\r", _up(max(len(lines), len(before)) - 1 - y), _right(x)]
        return "".join(parts)

    def resized(self, size: tuple[int, int], row: int | None = None) -> None:
        """Erases what has to be drawn again after a change of size.

        A terminal wraps lines that no longer fit and moves lines up or down. `row` is the row of
        the cursor now; if it is None, the live area is assumed to be at the bottom. Items that
        begin on the screen are printed again at the new width; items above it stay as they are.
        """
        (width, height), (x, y) = size, self._cursor
        above = rows_of(self._live[:y], width) + x // width
        room = height - rows_of(self._live, width) if row is None else row - above
        if width != self._size[0]:
            items = [item for item, _ in self._pending]
            self._pending.clear()
            while self._printed and (rows := rows_of(self._printed[-1][1], width)) <= room:
                items.insert(0, self._printed.pop()[0])
                room, above = room - rows, above + rows
            self.print_again(items)
        self._live, self._cursor, self._size = (), (0, 0), size
        self._erase_first += f"\r{_ERASE}\x1b[J" + f"\x1b[A{_ERASE}" * above


def _up(rows: int) -> str:
    return f"\x1b[{rows}A" if rows > 0 else ""


def _right(cells: int) -> str:
    return f"\x1b[{cells}C" if cells > 0 else ""
