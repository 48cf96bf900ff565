"""What was sent before, to be sent again."""

from collections.abc import Sequence
from typing import ClassVar

from textual.content import Content

from sapwood.display.text import cut
from sapwood.tui.composer.history import History
from sapwood.tui.screens.picker import Item, Picker

__all__ = ["HistoryPage"]


class HistoryPage(Picker):
    """Gives a text that was sent."""

    HEADING: ClassVar = "Sent before"
    FOOT: ClassVar = "enter takes it into the composer · esc closes"

    def __init__(self, history: History) -> None:
        super().__init__()
        self._history = history
        self._found: list[str] = []

    async def items(self, typed: str) -> Sequence[Item]:
        """Newest first."""
        self._found = self._history.matching(typed)
        return [Item(str(n), Content(cut(text[:400], 120))) for n, text in enumerate(self._found)]

    async def preview(self, id: str) -> Content:
        """All of it."""
        return Content(self._found[int(id)])

    def pick(self, id: str | None) -> None:
        """Gives the text itself."""
        if id is not None:
            self.dismiss(self._found[int(id)])
