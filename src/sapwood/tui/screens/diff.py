"""`/diff A B`: what differs between two contexts."""

from typing import ClassVar

from textual.content import Content

from sapwood.conversation.answers import ContextsCompared
from sapwood.display.comparison import comparison_lines
from sapwood.tui.screens.reader import Reader

__all__ = ["DiffPage"]

_COLOURS = {"-": "$error", "+": "$success"}


class DiffPage(Reader):
    """Turns that only one of the two shows, by sign."""

    HEADING: ClassVar = "Difference"

    def __init__(self, compared: ContextsCompared) -> None:
        super().__init__()
        self._compared = compared

    async def body(self) -> Content:
        """The lines, coloured by their side."""
        head = Content.assemble(
            (f"- {self._compared.left}", "bold $error"),
            "   ",
            (f"+ {self._compared.right}", "bold $success"),
        )
        lines = comparison_lines(self._compared, max(40, self.size.width - 16))
        shown = [Content.styled(line, _COLOURS.get(line[:1], "$faint")) for line in lines]
        return Content("\n").join([head, Content(""), *shown])
