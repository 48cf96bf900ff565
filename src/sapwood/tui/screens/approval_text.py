"""The scrolling text of a permission question, which knows how far it was shown.

A sign in the gutter tells a wrapped line from a new one.
"""

from collections.abc import Callable, Sequence
from typing import ClassVar

from msgspec import Struct
from rich.cells import get_character_cell_size
from rich.segment import Segment
from textual import events
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from sapwood.display.permission_text import ApprovalLine, wrapped_rows

_GUTTER = 2
_CONTINUED = "↪ "


class _WrappedRow(Struct, frozen=True):
    """A row on the screen: pieces with whether they stand for invisible characters."""

    kind: str
    pieces: tuple[tuple[str, bool], ...]
    continues: bool
    line: int
    offset: int


class ApprovalText(ScrollView, can_focus=False):
    """Shows lines exactly. `on_shown` is called when other rows may have come into view."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "approval--text",
        "approval--label",
        "approval--added",
        "approval--removed",
        "approval--place",
        "approval--hidden",
    }

    def __init__(self, lines: Sequence[ApprovalLine], on_shown: Callable[[], None]) -> None:
        super().__init__(id="would")
        self._lines = lines
        self._on_shown = on_shown
        self._rows: list[_WrappedRow] = []
        self._wrapped_width = 0
        self._shown_to = (0, 0)  # the line and the offset in it of the first row not shown yet

    @property
    def rows_left(self) -> int:
        """How many rows at the end were not shown yet."""
        return len(self._rows) - self._first_unseen if self._rows else 1

    @property
    def is_long(self) -> bool:
        """Whether there are more rows than fit."""
        return len(self._rows) > self.size.height

    def page(self, pages: int) -> None:
        """Scrolls by pages. Forward, it never passes a row that was not shown."""
        step = max(1, self.size.height - 1)
        target = self.scroll_offset.y + pages * step
        self.scroll_to(y=min(target, self._first_unseen), animate=False)

    # Wrapping

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """The number of rows at a width."""
        self._wrap(width - self.styles.scrollbar_size_vertical)
        return len(self._rows)

    def on_resize(self, event: events.Resize) -> None:
        """Wraps for the new width."""
        self._wrap(self.scrollable_content_region.width)
        self.note_shown()

    def _wrap(self, width: int) -> None:
        width = max(_GUTTER + 2, width)
        if width == self._wrapped_width:
            return
        self._wrapped_width = width
        self._rows = [
            row for number, line in enumerate(self._lines) for row in _wrapped(line, number, width)
        ]
        self.virtual_size = Size(width, len(self._rows))

    # What was shown

    @property
    def _first_unseen(self) -> int:
        """The index of the first row that was not shown yet."""
        places = ((row.line, row.offset) for row in self._rows)
        return next(
            (at for at, place in enumerate(places) if place >= self._shown_to), len(self._rows)
        )

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Notes the rows that scrolling brought into view."""
        super().watch_scroll_y(old_value, new_value)
        self.note_shown()

    def note_shown(self) -> None:
        """Notes which rows are in view, after they were drawn."""
        self.call_after_refresh(self.note_shown_now)

    def note_shown_now(self) -> None:
        """Notes which rows are in view, before a key that came right after the drawing counts."""
        if not self.is_attached:
            return
        first = self.scroll_offset.y
        end = first + self.screen.find_widget(self).visible_region.height
        if self._rows and first <= self._first_unseen < end:
            last = min(end, len(self._rows))
            rest = self._rows[last:]
            self._shown_to = (rest[0].line, rest[0].offset) if rest else (len(self._lines), 0)
        self._on_shown()

    # Drawing

    def render_line(self, y: int) -> Strip:
        """One row, with its gutter."""
        at = y + self.scroll_offset.y
        base = self.get_component_rich_style("approval--text")
        if at >= len(self._rows):
            return Strip.blank(self.size.width, base)
        row = self._rows[at]
        style = self.get_component_rich_style(f"approval--{row.kind}")
        hidden = self.get_component_rich_style("approval--hidden")
        place = self.get_component_rich_style("approval--place")
        segments = [Segment(_CONTINUED if row.continues else " " * _GUTTER, place)]
        segments += [
            Segment(text, hidden if is_hidden else style) for text, is_hidden in row.pieces
        ]
        return Strip(segments).adjust_cell_length(self.size.width, base)


def _wrapped(line: ApprovalLine, number: int, width: int) -> list[_WrappedRow]:
    rows: list[_WrappedRow] = []
    offset = 0
    for pieces in wrapped_rows(line, width - _GUTTER, get_character_cell_size):
        rows.append(_WrappedRow(line.kind, tuple(pieces), bool(rows), number, offset))
        offset += sum(len(text) for text, _ in pieces)
    return rows
