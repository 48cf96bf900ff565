"""A line in which keys, such as spaces, take turns, however many items one of them has."""

from collections import deque
from typing import Generic, TypeVar

_T = TypeVar("_T")


class TurnLine(Generic[_T]):
    """Items that wait. Each key gives one at a time; its own items keep their order.

    >>> line = TurnLine[int]()
    >>> for number in range(4):
    ...     line.add("flood", number)
    >>> line.add("quiet", 100)
    >>> line.take(3), len(line)
    ([0, 100, 1], 2)
    """

    def __init__(self) -> None:
        self._waiting: dict[str, deque[_T]] = {}
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def add(self, key: str, item: _T) -> None:
        """Adds an item. A key that has none yet goes to the end of the line."""
        self._waiting.setdefault(key, deque()).append(item)
        self._length += 1

    def take(self, most: int) -> list[_T]:
        """Takes out the next items, at most so many."""
        taken: list[_T] = []
        while self._waiting and len(taken) < most:
            key = next(iter(self._waiting))
            items = self._waiting.pop(key)
            taken.append(items.popleft())
            if items:
                self._waiting[key] = items
        self._length -= len(taken)
        return taken
