"""Counting tokens: a number, whether it is exact, and the one way it is shown."""

from typing import Protocol

from msgspec import Struct

__all__ = ["ZERO", "Count", "Counter", "show"]


class Count(Struct, frozen=True):
    """So many tokens. A sum is exact only if every part is."""

    tokens: int
    exact: bool

    def __add__(self, other: "Count") -> "Count":
        return Count(self.tokens + other.tokens, self.exact and other.exact)


ZERO = Count(0, exact=True)


class Counter(Protocol):
    """Counts the tokens of a text. `name` is stored beside what was counted."""

    @property
    def name(self) -> str: ...

    @property
    def exact(self) -> bool: ...

    def count(self, text: str) -> Count: ...


def show(count: Count) -> str:
    """`77k` when exact, `~77k` when estimated."""
    raise NotImplementedError
