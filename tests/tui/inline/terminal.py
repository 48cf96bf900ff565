"""A terminal of few words: what `--inline` writes, as it would stand on a screen."""

import re

from rich.cells import cell_len

__all__ = ["PlainTerminal"]

_PART = re.compile(r"\x1b\[(\??)([\d;]*)([A-Za-z])|\x1b\][^\x07]*\x07|(\r)|(\n)|([^\x1b\r\n]+)")


class PlainTerminal:
    """Knows lines, the cursor, and a scrollback; anything else that is written is a defect."""

    def __init__(self, width: int, height: int) -> None:
        self.width, self.height = width, height
        self.lines: list[str] = [""] * height
        self.past: list[str] = []
        self.x = self.y = 0

    @property
    def everything(self) -> list[str]:
        """Scrollback and screen, without the blank end."""
        lines = [*self.past, *self.lines]
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
        line = self.lines[self.y].ljust(self.x)
        self.lines[self.y] = (line[: self.x] + words + line[self.x + len(words) :]).rstrip()
        self.x += cell_len(words)
        assert self.x <= self.width, f"too long for {self.width} columns: {words!r}"

    def _down(self) -> None:
        if self.y + 1 < self.height:
            self.y += 1
        else:
            self.past.append(self.lines.pop(0))
            self.lines.append("")

    def _move(self, letter: str, number: int) -> None:
        match letter:
            case "A":
                self.y = max(0, self.y - (number or 1))
            case "C":
                self.x += number or 1
            case "K":
                self.lines[self.y] = "" if number == 2 else self.lines[self.y][: self.x]
            case "J":
                assert (self.x, self.y) != (0, 0), "tmux keeps what is erased as a whole"
                self.lines[self.y] = self.lines[self.y][: self.x]
                self.lines[self.y + 1 :] = [""] * (self.height - self.y - 1)
            case _:
                raise AssertionError(f"not understood: {letter}")

    def resize(self, width: int, height: int) -> None:
        """Wraps what no longer fits, cuts blank rows at the bottom, and keeps the end in view."""
        rows: list[str] = []
        at = 0
        for number, line in enumerate([*self.past, *self.lines]):
            if number == len(self.past) + self.y:
                at = len(rows) + self.x // width
            rows += [line[n : n + width] for n in range(0, max(1, len(line)), width)]
        for _ in range(self.height - height):
            if len(rows) - 1 > at and not rows[-1]:
                rows.pop()
        first = max(0, len(rows) - height)
        self.past, self.lines = rows[:first], rows[first:]
        self.lines += [""] * (height - len(self.lines))
        self.x, self.y = self.x % width, max(0, at - first)
        self.width, self.height = width, height
