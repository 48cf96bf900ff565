"""The thin bar beside the transcript: where the reader is among all rows. Pure."""

from collections.abc import Sequence

from sapwood.tui.transcript.viewport import Viewport

__all__ = ["thumb"]


def thumb(view: Viewport, lines: Sequence[tuple[int, int]]) -> range | None:
    """The lines that the thumb covers, or None where everything is on screen."""
    seen = max(1, lines[-1][0] - lines[0][0] + 1) if lines else view.rows
    if seen >= view.rows:
        return None
    length = max(1, round(view.size * seen / view.rows))
    free = view.size - length
    at = free if view.follows else min(free, round(free * view.top / (view.rows - seen)))
    return range(at, at + length)
