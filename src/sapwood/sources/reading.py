"""What every reader of a transcript is: rows go in, happenings come out.

Readers do no I/O and raise nothing: a row that they do not know, or that is broken, is passed over.
"""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Protocol

from msgspec import Struct

from sapwood.sources.happenings import Happening

__all__ = ["About", "Mask", "Reader", "microseconds"]

Mask = Callable[[str], str]
"""What is done to every tool result before anybody sees it."""


class About(Struct):
    """What the rows say of the session as a whole, the newest last."""

    id: str = ""
    folder: str = ""
    title: str = ""
    model: str = ""
    used: int | None = None
    window: int | None = None
    updated: int = 0
    parent: str = ""


class Reader(Protocol):
    """Reads the rows of one transcript. Whoever drives it takes the happenings away."""

    source: str
    about: About

    @property
    def lost(self) -> bool:
        """Whether a row referred to rows before the first that was fed.

        Whoever began in the middle has to read from the beginning then.
        """
        ...

    @property
    def happened(self) -> list[Happening]:
        """What the rows told so far."""
        ...

    @property
    def children(self) -> "Sequence[Reader]":
        """Readers of the subagents whose rows stand in the same transcript."""
        ...

    def feed(self, row: bytes, place: int) -> None:
        """Takes in one row, which begins at this byte of the transcript."""
        ...

    def is_named(self, row: bytes, place: int, key: str) -> bool:
        """Whether this row has the key."""
        ...

    def finish(self, *, growing: bool = False) -> None:
        """Tells the turn that stands last, as open unless it has ended. More rows may follow.

        While the transcript is `growing`, a compaction waits for its summary.
        """
        ...

    def cut(self) -> None:
        """Forgets the turn that was told last, because it was taken as ended: what follows of it
        is a turn of its own."""
        ...


def microseconds(timestamp: object) -> int:
    """A time in ISO 8601 as microseconds since 1970, 0 for anything else.

    >>> microseconds("2026-11-14T22:51:22.426Z")
    1794696682426000
    """
    if not isinstance(timestamp, str):
        return 0
    try:
        when = datetime.fromisoformat(timestamp)
        if when.tzinfo is None:
            when = when.replace(tzinfo=UTC)
        return int(when.timestamp() * 1_000_000)
    except (ValueError, OverflowError):
        return 0
