"""The text area that a person types into."""

from collections.abc import Callable

from textual import events
from textual.message import Message
from textual.widgets import TextArea

from sapwood.tui.composer.history import History

__all__ = ["Composer"]

_PICKING = ("up", "down", "tab", "enter")


class Composer(TextArea):
    """Several lines; enter sends, and a paste is text however many lines it has.

    `pick` is asked first about keys that a list of completions may want.
    """

    DEFAULT_CSS = """
    Composer {
        height: auto; max-height: 12; padding: 0 1; background: $background;
        border: round $primary 50%; scrollbar-size-vertical: 1;
        border-subtitle-color: $accent;
    }
    Composer:focus { border: round $primary; }
    Composer .text-area--cursor-line { background: transparent; }
    """

    class Sent(Message):
        """Enter was pressed."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Recalled(Message):
        """Up was pressed on the first line: what is queued comes back, or what was sent."""

    class BlockKey(Message):
        """A key for the block that is lit in the transcript, while nothing is typed."""

        def __init__(self, action: str) -> None:
            super().__init__()
            self.action = action

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id, show_line_numbers=False, placeholder="Message, or / for commands")
        self.sent = History()
        self.pick: Callable[[str], bool] = lambda key: False
        self.on_block = False

    async def _on_key(self, event: events.Key) -> None:
        if self._handled(event.key):
            event.stop()
            event.prevent_default()
        else:
            await super()._on_key(event)

    def _handled(self, key: str) -> bool:
        if key in _PICKING and self.pick(key):
            return True
        if not self.text and (action := self._block_action(key)):
            self.post_message(self.BlockKey(action))
        elif key == "enter":
            # At once: what is typed next belongs to the next message.
            self.post_message(self.Sent(self.text))
            self.text = ""
        elif key in ("shift+enter", "ctrl+j", "alt+enter"):
            self.insert("\n")
        elif key == "up" and self.cursor_location[0] == 0:
            self.post_message(self.Recalled())
        elif key == "down" and self.cursor_location[0] == self.document.line_count - 1:
            self._replace_with(self.sent.forward(self.text))
        else:
            return False
        return True

    def _block_action(self, key: str) -> str:
        if key == "end":
            return "end"
        return {"enter": "open", "y": "copy"}.get(key, "") if self.on_block else ""

    def recall(self) -> None:
        """Shows what was sent before."""
        self._replace_with(self.sent.back(self.text))

    def put(self, text: str) -> None:
        """Shows a text to go on with."""
        self._replace_with(text)

    def complete(self, word: str) -> None:
        """Puts a word in place of what was typed of it."""
        row, column = self.cursor_location
        self.replace(f"{word} ", (row, column - len(self.word)), (row, column))

    @property
    def word(self) -> str:
        """The word that is being typed."""
        return self.line_to_cursor.rpartition(" ")[2]

    @property
    def line_to_cursor(self) -> str:
        """What stands on the line up to the cursor."""
        row, column = self.cursor_location
        return self.document.get_line(row)[:column]

    def _replace_with(self, text: str | None) -> None:
        if text is not None:
            self.text = text
            self.move_cursor(self.document.end)
