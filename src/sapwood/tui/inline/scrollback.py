"""The lowest lines of a terminal: what is printed for good, and a live area below it. Pure.

The cursor only ever moves relative to itself, so a terminal need not be asked where it stands, but
for when it has another size. Lines are written over and erased one by one: a terminal that is told
to erase everything may keep a copy of it in its scrollback (tmux does).
"""

from collections import deque
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from sapwood.tui.inline.line import Line, rows_of

__all__ = ["Scrollback"]

T = TypeVar("T")

_BEGIN, _END = "\x1b[?2026h", "\x1b[?2026l"
"""One update that is shown as a whole."""

_CUT, _WRAP = "\x1b[?7l", "\x1b[?7h"
"""What becomes of a line if the terminal has just become narrower; what is printed is kept."""

_ERASE = "\x1b[2K"
"""All of a line: after its end alone is erased, tmux still takes it to be as long as it was."""

_BLANK = Line("", 0)
_KEPT = 400
"""Printed things that are remembered: more than any screen is high."""


class Scrollback(Generic[T]):
    """Prints things of one kind above a live area. `again` is given those that are to be printed
    anew, because the terminal has another width."""

    def __init__(self) -> None:
        self.again: Callable[[list[T]], None] = lambda things: None
        self._pending: list[tuple[T, tuple[Line, ...]]] = []
        self._printed: deque[tuple[T, tuple[Line, ...]]] = deque(maxlen=_KEPT)
        self._live: tuple[Line, ...] = ()
        self._cursor = (0, 0)
        self._size = (0, 0)
        self._taken = ""

    def print(self, thing: T, lines: Sequence[Line]) -> None:
        """Has a thing printed with the next frame."""
        self._pending.append((thing, tuple(lines)))

    def fits(self, size: tuple[int, int]) -> bool:
        """Whether the terminal has the size that the last frame was drawn for."""
        return self._size in ((0, 0), size)

    def frame(self, live: Sequence[Line], cursor: tuple[int, int], size: tuple[int, int]) -> str:
        """What brings the terminal from the last frame to this one."""
        self._size = size
        cursor = (cursor[0], max(0, min(cursor[1], len(live) - 1)))  # one of a live area before
        taken, self._taken = self._taken, ""
        pending, self._pending = self._pending, []
        self._printed.extend(pending)
        printed = [line for _, lines in pending for line in lines]
        if not (taken or printed) and (tuple(live), cursor) == (self._live, self._cursor):
            return ""
        written = taken + self._written(printed, live, cursor)
        self._live, self._cursor = tuple(live), cursor
        return f"{_BEGIN}{written}{_END}"

    def removed(self) -> str:
        """Takes the live area away; the cursor then stands where it began."""
        last = [line for _, lines in self._pending for line in lines]
        self._pending.clear()
        written = self._taken + self._written([*last, _BLANK], [], (0, -1))
        self._live, self._cursor, self._taken = (), (0, 0), ""
        return f"{_BEGIN}{written}{_END}"

    def _written(
        self, printed: Sequence[Line], live: Sequence[Line], cursor: tuple[int, int]
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
        """Takes back what has to be drawn anew, wherever the terminal has moved it.

        A terminal wraps what no longer fits and moves it up or down. `row` is where the cursor
        stands now; if that is not known, the live area is taken to end the screen. All that
        begins on the screen is printed anew at the new width; what has left it stays as it is.
        """
        (width, height), (x, y) = size, self._cursor
        above = rows_of(self._live[:y], width) + x // width
        room = height - rows_of(self._live, width) if row is None else row - above
        if width != self._size[0]:
            things = [thing for thing, _ in self._pending]
            self._pending.clear()
            while self._printed and (rows := rows_of(self._printed[-1][1], width)) <= room:
                things.insert(0, self._printed.pop()[0])
                room, above = room - rows, above + rows
            self.again(things)
        self._live, self._cursor, self._size = (), (0, 0), size
        self._taken += f"\r{_ERASE}\x1b[J" + f"\x1b[A{_ERASE}" * above


def _up(rows: int) -> str:
    return f"\x1b[{rows}A" if rows > 0 else ""


def _right(cells: int) -> str:
    return f"\x1b[{cells}C" if cells > 0 else ""
