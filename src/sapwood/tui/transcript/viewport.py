"""The scroll position: the first row on screen, and how many of its lines are above the screen.

The position has no coordinates, only a row and a line in it. Changes above the screen therefore do
not move the text, and only the heights of the rows on screen have to be known.
"""

from collections.abc import Callable, Sequence


class Viewport:
    """A screen of `size` lines over `rows` rows; `height` returns the lines of a row.

    >>> view = Viewport(lambda row: 3)
    >>> view.rows, view.size = 4, 5
    >>> view.to_end()
    >>> view.lines()
    [(2, 1), (2, 2), (3, 0), (3, 1), (3, 2)]
    >>> view.scroll(-2)
    >>> view.lines()[0], view.follows
    ((1, 2), False)
    """

    def __init__(self, height: Callable[[int], int]) -> None:
        self._height = height
        self.rows = 0
        self.size = 0
        self.top = 0
        self.skip = 0
        self.follows = True

    def scroll(self, lines: int) -> None:
        """Moves down by a number of lines, or up if it is negative. Stops at both ends."""
        if lines < 0:
            top, skip = self._up(self.top, self.skip + lines)
            self.follows = self.follows and (top, skip) == (self.top, self.skip)
            self.top, self.skip = top, skip
        elif lines > 0:
            self._set(*self._down(self.top, self.skip + lines))

    def to_end(self) -> None:
        """Shows the last line at the bottom, and follows the end as rows are added."""
        self.follows = True
        if self.rows:
            last = self.rows - 1
            self.top, self.skip = self._up(last, self._height(last) - self.size)
        else:
            self.top = self.skip = 0

    def to_start(self) -> None:
        """Shows the first line at the top."""
        self.follows = False
        self._set(0, 0)

    def place(self, row: int, at: int) -> None:
        """Puts the first line of a row on the line `at` of the screen, as far as the ends allow."""
        self.follows = False
        self._set(*self._up(row, -at))

    def settle(self) -> None:
        """Corrects the position after rows were added, removed or changed their height."""
        if self.follows or not self.rows:
            self.to_end()
            return
        top = min(self.top, self.rows - 1)
        self.top, self.skip = top, max(0, min(self.skip, self._height(top) - 1))

    def lines(self) -> list[tuple[int, int]]:
        """Row and line number of each line on screen, from top to bottom."""
        found: list[tuple[int, int]] = []
        row, line = self.top, self.skip
        while row < self.rows and len(found) < self.size:
            last = min(self._height(row), line + self.size - len(found))
            found += [(row, each) for each in range(line, last)]
            row, line = row + 1, 0
        return found

    def _set(self, top: int, skip: int) -> None:
        """Sets the position, or the last one that fills the screen."""
        before = self.follows
        self.top, self.skip = top, skip
        if len(self.lines()) < self.size:
            self.to_end()
            self.follows = before or self.follows
        elif self._is_end():
            self.follows = True

    def _is_end(self) -> bool:
        last = self.lines()[-1]
        return last == (self.rows - 1, self._height(self.rows - 1) - 1)

    def _up(self, top: int, skip: int) -> tuple[int, int]:
        while skip < 0 and top > 0:
            top -= 1
            skip += self._height(top)
        return top, max(0, skip)

    def _down(self, top: int, skip: int) -> tuple[int, int]:
        while top < self.rows and skip >= (height := self._height(top)):
            skip -= height
            top += 1
        return top, skip


def scrollbar_thumb(view: Viewport, lines: Sequence[tuple[int, int]]) -> range | None:
    """The lines of the scrollbar that its thumb covers; None if every row is on screen."""
    seen = max(1, lines[-1][0] - lines[0][0] + 1) if lines else view.rows
    if seen >= view.rows:
        return None
    length = max(1, round(view.size * seen / view.rows))
    free = view.size - length
    at = free if view.follows else min(free, round(free * view.top / (view.rows - seen)))
    return range(at, at + length)
