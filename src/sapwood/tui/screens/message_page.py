"""The page that shows all of a message that does not fit above the composer."""

from typing import ClassVar

from textual.content import Content

from sapwood.display.text import plain
from sapwood.tui.screens.modal_page import TextPage


class MessagePage(TextPage):
    """Shows the answer to a command, or why it was refused."""

    HEADING: ClassVar = "Message"

    def __init__(self, message: str) -> None:
        super().__init__()
        self._message = message

    async def body(self) -> Content:
        """The message."""
        return Content(plain(self._message))
