"""Counting tokens: a number, whether it is exact, and the one way it is shown."""

from typing import Protocol

from msgspec import Struct

__all__ = ["ZERO", "Count", "Counter", "show"]


class Count(Struct, frozen=True):
    """So many tokens. A sum is exact only if every part is.

    >>> Count(700, exact=True) + Count(80, exact=False)
    Count(tokens=780, exact=False)
    """

    tokens: int
    exact: bool

    def __add__(self, other: "Count") -> "Count":
        return Count(self.tokens + other.tokens, self.exact and other.exact)


ZERO = Count(0, exact=True)


class Counter(Protocol):
    """Counts the tokens of a text, always exactly or never.

    `name` is stored beside what was counted: a count is used again only under the same name, so a
    counter that comes to count differently takes another one.
    """

    @property
    def name(self) -> str: ...

    @property
    def exact(self) -> bool: ...

    def count(self, text: str) -> Count: ...


def show(count: Count) -> str:
    """The count as every surface prints it: a tilde marks an estimate.

    >>> [show(Count(n, exact=True)) for n in (950, 1_834, 77_123, 1_240_000)]
    ['950', '1.8k', '77k', '1.2M']
    >>> show(Count(77_123, exact=False))
    '~77k'
    """
    return ("" if count.exact else "~") + _digits(count.tokens)


def _digits(number: int) -> str:
    """All digits below a thousand, then two or three: `9.2k`, `77k`, `320k`, `1.2M`.

    In whole numbers and half up, so that a larger count never shows as less: what would round to
    ten of a unit loses its decimal, what would round to a thousand of it takes the next unit.
    """
    if number < 1_000:
        return str(number)
    size, unit = (1_000, "k") if number < 999_500 else (1_000_000, "M")
    tenths = (number * 10 + size // 2) // size
    if tenths < 100:
        return f"{tenths // 10}.{tenths % 10}{unit}"
    return f"{(number + size // 2) // size}{unit}"
