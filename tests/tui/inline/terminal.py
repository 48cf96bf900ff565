"""A terminal of few words: what `--inline` writes, as it would stand on a screen."""

import re

from rich.cells import cell_len

_PART = re.compile(r"\x1b\[(\??)([\d;]*)([A-Za-z])|\x1b\][^\x07]*\x07|(\r)|(\n)|([^\x1b\r\n]+)")


class Row:
    """A row of the terminal; a `wrapped` one goes on with the row above it."""

    def __init__(self, text: str = "", *, wrapped: bool = False) -> None:
        self.text = text
        self.wrapped = wrapped


class PlainTerminal:
    """Knows lines, the cursor, and a scrollback; anything else that is written is a defect."""

    def __init__(self, width: int, height: int) -> None:
        self.width, self.height = width, height
        self._rows = [Row() for _ in range(height)]
        self._past: list[Row] = []
        self.x = self.y = 0
        self.frames: list[str] = []
        """What stood everywhere after each write that a test wants to look back at."""

    @property
    def lines(self) -> list[str]:
        """What is on the screen."""
        return [row.text for row in self._rows]

    @property
    def everything(self) -> list[str]:
        """Scrollback and screen, without the blank end."""
        lines = [row.text for row in (*self._past, *self._rows)]
        while lines and not lines[-1]:
            lines.pop()
        return lines

    def write(self, data: str) -> None:
        """Carries out what is written."""
        at = 0
        for part in _PART.finditer(data):
            assert part.start() == at, f"not understood: {data[at : part.start()]!r}"
            at = part.end()
            private, numbers, letter, start, down, words = part.groups()
            if words:
                self._put(words)
            elif start:
                self.x = 0
            elif down:
                self._down()
            elif letter and letter not in "mhlun" and not private:
                self._move(letter, int(numbers or 0))
        assert at == len(data), f"not understood: {data[at:]!r}"

    def _put(self, words: str) -> None:
        line = self._rows[self.y].text.ljust(self.x)
        self._set(self.y, (line[: self.x] + words + line[self.x + len(words) :]).rstrip())
        self.x += cell_len(words)
        assert self.x <= self.width, f"too long for {self.width} columns: {words!r}"

    def _set(self, y: int, text: str) -> None:
        self._rows[y] = Row(text)

    def _down(self) -> None:
        if self.y + 1 < self.height:
            self.y += 1
        else:
            self._past.append(self._rows.pop(0))
            self._rows.append(Row())

    def _move(self, letter: str, number: int) -> None:
        match letter:
            case "A":
                self.y = max(0, self.y - (number or 1))
            case "C":
                self.x += number or 1
            case "K":
                self._set(self.y, "" if number == 2 else self._rows[self.y].text[: self.x])
            case "J":
                assert (self.x, self.y) != (0, 0), "tmux keeps what is erased as a whole"
                self._set(self.y, self._rows[self.y].text[: self.x])
                for y in range(self.y + 1, self.height):
                    self._set(y, "")
            case _:
                raise AssertionError(f"not understood: {letter}")

    def resize(self, width: int, height: int) -> None:
        """Wraps what no longer fits and joins what does again, cuts blank rows at the bottom, and
        keeps the end in view."""
        lines: list[str] = []
        at = place = 0
        for number, row in enumerate((*self._past, *self._rows)):
            before = lines.pop() if row.wrapped else ""
            lines.append(before + row.text)
            if number == len(self._past) + self.y:
                at, place = len(lines) - 1, len(before) + self.x
        rows: list[Row] = []
        cursor = at
        for number, line in enumerate(lines):
            if number == cursor:
                at, place = len(rows) + place // width, place % width
            pieces = [line[n : n + width] for n in range(0, max(1, len(line)), width)]
            rows += [Row(piece, wrapped=n > 0) for n, piece in enumerate(pieces)]
        for _ in range(self.height - height):
            if len(rows) - 1 > at and not rows[-1].text:
                rows.pop()
        first = max(0, len(rows) - height)
        self._past, self._rows = rows[:first], rows[first:]
        self._rows += [Row() for _ in range(height - len(self._rows))]
        self.x, self.y = place, max(0, at - first)
        self.width, self.height = width, height
