"""The window: how many of the oldest turns leave when live history outgrows its cap.

Stopping at a low-water mark instead of just under the cap is what keeps the provider's prompt
cache: a window that slides at every turn rewrites the prefix at every turn.
"""

from collections.abc import Sequence

__all__ = ["turns_to_leave"]


def turns_to_leave(sizes: Sequence[float], cap: int, low_water: float) -> int:
    """How many of the oldest turns to leave behind; the newest always stays.

    >>> turns_to_leave([40, 30, 20, 20], cap=100, low_water=0.6)
    2
    >>> turns_to_leave([40, 30, 20], cap=100, low_water=0.6)
    0
    >>> turns_to_leave([500], cap=100, low_water=0.6)
    0
    """
    total = sum(sizes)
    if cap <= 0 or total <= cap:
        return 0
    leaving = 0
    while leaving < len(sizes) - 1 and total > cap * low_water:
        total -= sizes[leaving]
        leaving += 1
    return leaving
