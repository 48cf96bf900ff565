"""The thin bar beside the transcript: where the reader is among all rows."""

from rich.segment import Segment
from rich.style import Style

from sapwood.tui.transcript.viewport import Viewport

__all__ = ["scrollbar"]


def scrollbar(view: Viewport, track: Style, thumb: Style) -> list[Segment]:
    """A cell for each line; nothing to see where everything is on screen."""
    size, rows = view.size, view.rows
    seen = max(1, len({place for place, _ in view.lines()}))
    if seen >= rows:
        return [Segment(" ", track)] * size
    length = max(1, round(size * seen / rows))
    free = size - length
    at = free if view.follows else min(free, round(free * view.top / (rows - seen)))
    lit, unlit = Segment("┃", thumb), Segment("│", track)
    return [lit if at <= y < at + length else unlit for y in range(size)]
