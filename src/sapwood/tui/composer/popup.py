"""The list of completions, over the transcript and above the composer."""

from collections.abc import Sequence

from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from sapwood.conversation.completion import Choice
from sapwood.display.text import one_line

__all__ = ["Popup"]


class Popup(OptionList, can_focus=False):
    """Shown while there is something to complete. The composer keeps the focus."""

    DEFAULT_CSS = """
    Popup {
        display: none; layer: over; dock: bottom; width: auto; min-width: 40; max-width: 100%;
        height: auto; max-height: 12; padding: 0 1; border: round $accent; background: $surface;
        scrollbar-size-vertical: 1; scrollbar-background: $surface;
        scrollbar-color: $panel-lighten-2; text-wrap: nowrap; text-overflow: ellipsis;
    }
    """

    moved = False
    """Whether somebody went through the list since it was made."""

    def offer(self, found: Sequence[Choice]) -> None:
        """Shows these choices, or nothing."""
        self.moved = False
        self.clear_options()
        self.display = bool(found)
        if found:
            words = max(len(each.word) for each in found) + 1
            usages = max(len(each.usage) for each in found) + 1
            self.add_options([Option(_line(each, words, usages), id=each.word) for each in found])
            self.highlighted = 0

    def move(self, key: str) -> None:
        """Up or down."""
        self.moved = True
        if key == "up":
            self.action_cursor_up()
        else:
            self.action_cursor_down()

    def is_meant(self, word: str) -> bool:
        """Whether enter takes what is lit, and does not send what is typed already."""
        return self.moved or (bool(word) and self.chosen != word)

    @property
    def chosen(self) -> str | None:
        """The word that is lit."""
        option = self.highlighted_option
        return option.id if option is not None else None


def _line(choice: Choice, words: int, usages: int) -> Content:
    return Content.assemble(
        (f"{choice.word:<{words}} ", "bold $accent"),
        (f"{choice.usage:<{usages}} " if usages > 1 else "", "$foreground"),
        (one_line(choice.help), "$faint"),
    )
