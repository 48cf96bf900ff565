"""The gate for all text that a screen draws: no widget can write a control character.

Widgets show their texts by `sapwood.display`, which explains such characters. This filter is the
last step before the terminal, for every line of every widget.
"""

from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

from sapwood.display.visible_text import one_sign_each


class ControlFilter(LineFilter):
    """Replaces characters that a terminal would obey or not show."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Returns the segments of a line without such characters."""
        return without_controls(segments)


def without_controls(segments: list[Segment]) -> list[Segment]:
    """Replaces characters that a terminal would obey or not show, one sign for each."""
    if all(segment.text.isascii() and segment.text.isprintable() for segment in segments):
        return segments
    return [Segment(one_sign_each(text), style, control) for text, style, control in segments]
