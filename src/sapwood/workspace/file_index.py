"""The paths of a workspace, and those that fit a few typed letters best. Pure.

It searches long joined strings and not path by path, so that 100,000 files take milliseconds.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from heapq import nsmallest
from itertools import accumulate, islice

_ENOUGH = 256
"""Paths of one kind of match that are compared with each other."""


class _JoinedLines:
    """Texts joined to one string, each on a line of its own."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._text = "\n" + "\n".join(lines) + "\n"
        self._starts = list(accumulate((len(line) + 1 for line in lines), initial=1))

    def having(self, words: str) -> Iterator[int]:
        """The numbers of the lines that have these words; a line starts and ends with a newline."""
        place = self._text.find(words)
        while place >= 0:
            number = bisect_right(self._starts, place + words.startswith("\n")) - 1
            yield number
            place = self._text.find(words, self._starts[number + 1] - 1)

    def scattered(self, letters: str) -> Iterator[tuple[int, int]]:
        """The lines with these letters in this order: how far apart they are, and the number."""
        if not all(letter in self._text for letter in letters):
            return
        first, *rest = (re.escape(letter) for letter in letters)
        tail = "".join(f"[^{letter}\\n]*+{letter}" for letter in rest)
        for match in re.finditer(f"\n[^{first}\\n]*+({first}{tail})", self._text):
            yield match.end() - match.start(1), bisect_right(self._starts, match.start(1)) - 1


class FileIndex:
    """Paths that can be found by a few of their letters.

    >>> index = FileIndex(["docs/refunds.md", "shop/receipt_format.py", "shop/refund.py"])
    >>> index.best("refund", 2), index.best("shrf", 1)
    (['shop/refund.py', 'docs/refunds.md'], ['shop/refund.py'])
    """

    def __init__(self, paths: Sequence[str]) -> None:
        self.paths = paths
        self._known = frozenset(paths)
        self._lower = [path.casefold() for path in paths]
        self._whole = _JoinedLines(self._lower)
        self._names = _JoinedLines([path.rpartition("/")[2] for path in self._lower])
        self._first = nsmallest(64, range(len(paths)), key=lambda each: paths[each].count("/"))

    def __contains__(self, path: object) -> bool:
        """Whether this is one of the paths."""
        return path in self._known

    def best(self, typed: str, limit: int) -> list[str]:
        """The paths that fit best: by the beginning of a name, by a part, by scattered letters."""
        typed = typed.casefold()
        if not typed:
            return [self.paths[each] for each in self._first[:limit]]
        found: dict[int, None] = {}
        for numbers in self._by_quality(typed):
            found |= dict.fromkeys(numbers)
            if len(found) >= limit:
                break
        return [self.paths[each] for each in list(found)[:limit]]

    def _by_quality(self, typed: str) -> Iterator[list[int]]:
        """The numbers of paths, those that fit best first."""
        if "/" not in typed:
            for words in (f"\n{typed}\n", f"\n{typed}.", f"\n{typed}", typed):
                yield sorted(islice(self._names.having(words), _ENOUGH), key=self._rank)
        yield sorted(islice(self._whole.having(typed), _ENOUGH), key=self._rank)
        near = islice(self._whole.scattered(typed), _ENOUGH)
        yield [
            number for _, number in sorted(near, key=lambda each: (each[0], self._rank(each[1])))
        ]

    def _rank(self, number: int) -> tuple[int, str]:
        path = self._lower[number]
        return len(path), path
