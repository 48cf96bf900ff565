"""A place in a text that holds a secret, as its finders tell it."""

from typing import NamedTuple

__all__ = ["Span"]


class Span(NamedTuple):
    """From `start` up to `end`, and what kind of secret stands there."""

    start: int
    end: int
    kind: str
