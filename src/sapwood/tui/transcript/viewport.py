"""Where the reader is: a row, and how many of its lines are above the screen.

There are no coordinates. A place is a row and a line in it, so nothing that happens above the
screen can move what is being read, and no height has to be known but those on screen.
"""

from collections.abc import Callable

__all__ = ["Viewport"]


class Viewport:
    """A screen of `size` lines over `rows` rows; `height` tells how many lines a row has.

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
        """Moves down by so many lines, or up if it is negative; never past an end."""
        if lines < 0:
            top, skip = self._up(self.top, self.skip + lines)
            self.follows = self.follows and (top, skip) == (self.top, self.skip)
            self.top, self.skip = top, skip
        elif lines > 0:
            self._set(*self._down(self.top, self.skip + lines))

    def to_end(self) -> None:
        """The last line at the bottom; it stays there as rows are added."""
        self.follows = True
        if self.rows:
            last = self.rows - 1
            self.top, self.skip = self._up(last, self._height(last) - self.size)
        else:
            self.top = self.skip = 0

    def to_start(self) -> None:
        """The first line at the top."""
        self.follows = False
        self._set(0, 0)

    def place(self, row: int, at: int) -> None:
        """Puts a row's first line on a line of the screen, as far as the ends allow."""
        self.follows = False
        self._set(*self._up(row, -at))

    def settle(self) -> None:
        """Keeps the place valid after rows came, went or changed their height."""
        if self.follows or not self.rows:
            self.to_end()
            return
        top = min(self.top, self.rows - 1)
        self.top, self.skip = top, max(0, min(self.skip, self._height(top) - 1))

    def lines(self) -> list[tuple[int, int]]:
        """Row and line of everything on screen, from top to bottom."""
        found: list[tuple[int, int]] = []
        row, line = self.top, self.skip
        while row < self.rows and len(found) < self.size:
            last = min(self._height(row), line + self.size - len(found))
            found += [(row, each) for each in range(line, last)]
            row, line = row + 1, 0
        return found

    def _set(self, top: int, skip: int) -> None:
        """Takes a place, or the last one from which the screen is full."""
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
