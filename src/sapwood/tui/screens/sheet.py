"""What pages have in common: a frame with a title, a foot that says the keys, and a way out."""

from typing import ClassVar, TypeVar

from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen

__all__ = ["Sheet"]

T = TypeVar("T")


class Sheet(ModalScreen[T | None]):
    """A page over the conversation. Escape closes it and changes nothing."""

    CSS_PATH = "sheet.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "close", "Close")]
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide")]  # noqa: RUF012 (as Textual types it)

    def frame(self, title: str, foot: str) -> Vertical:
        """The frame that everything stands in."""
        frame = Vertical(id="frame")
        frame.border_title = f" {title} "
        frame.border_subtitle = f" {foot} "
        return frame

    def action_close(self) -> None:
        """Back to the conversation."""
        self.dismiss(None)
