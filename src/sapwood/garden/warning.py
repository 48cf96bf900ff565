"""A warning in time: how full the window is, what a compaction would lose, and what frees how much.

Pure, and light enough for a hook: what is lost and what could be done was found before.
"""

from msgspec import Struct

from sapwood.core.counting import Count, show

__all__ = ["Pressure", "warning"]


class Pressure(Struct, frozen=True):
    """How much of what fits is used; `limit` is where the program will compact, or its window."""

    used: int
    limit: int

    @property
    def share(self) -> float:
        """The used share."""
        return self.used / self.limit if self.limit else 0.0


def warning(pressure: Pressure, lost: str, acts: str) -> str:
    """The warning as a person and a model read it.

    >>> print(warning(Pressure(70_000, 100_000), "4 turns, 1 decision", "- /compact frees ~60k."))
    Context at 70 % of 100k tokens. A compaction would leave a summary of 4 turns, 1 decision.
    - /compact frees ~60k.
    """
    limit = show(Count(pressure.limit, exact=True))
    head = f"Context at {round(pressure.share * 100)} % of {limit} tokens."
    if lost:
        head += f" A compaction would leave a summary of {lost}."
    return f"{head}\n{acts}" if acts else head
