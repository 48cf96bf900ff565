"""An immutable sequence; making a longer copy of it costs only what is added."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Generic, TypeVar, overload

T = TypeVar("T")


class AppendOnlySequence(Sequence[T], Generic[T]):
    """The first items of a list that several sequences share.

    Adding an item to a tuple copies every item: with 5,000 turns that took longer than the commit.
    Here the longest sequence adds to the shared list; a shorter one copies its items first.

    >>> one = AppendOnlySequence([1, 2])
    >>> longer, other = one.plus(3), one.plus(4)
    >>> one, longer, other, longer[1:]
    (AppendOnlySequence(1, 2), AppendOnlySequence(1, 2, 3), AppendOnlySequence(1, 2, 4), (2, 3))
    >>> longer == (1, 2, 3), longer == other
    (True, False)
    """

    __slots__ = ("_items", "_size")

    def __init__(self, items: Sequence[T] = ()) -> None:
        self._items = list(items)
        self._size = len(self._items)

    def plus(self, item: T) -> "AppendOnlySequence[T]":
        """Returns a sequence with one more item at the end."""
        items = self._items if self._size == len(self._items) else self._items[: self._size]
        items.append(item)
        longer: AppendOnlySequence[T] = AppendOnlySequence()
        longer._items, longer._size = items, self._size + 1
        return longer

    def __len__(self) -> int:
        return self._size

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[T, ...]: ...
    def __getitem__(self, index: int | slice) -> T | tuple[T, ...]:
        if isinstance(index, slice):
            return tuple([self._items[place] for place in range(*index.indices(self._size))])
        if not -self._size <= index < self._size:
            raise IndexError(index)
        return self._items[index + self._size if index < 0 else index]

    def __iter__(self) -> Iterator[T]:
        return islice(self._items, self._size)

    def __reversed__(self) -> Iterator[T]:
        return islice(reversed(self._items), len(self._items) - self._size, None)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AppendOnlySequence | tuple):
            return NotImplemented
        if len(self) != len(other):  # pyright: ignore[reportUnknownArgumentType]
            return False
        return all(mine == its for mine, its in zip(self, other, strict=True))  # pyright: ignore[reportUnknownVariableType,reportUnknownArgumentType]

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"AppendOnlySequence({', '.join(map(repr, self))})"
