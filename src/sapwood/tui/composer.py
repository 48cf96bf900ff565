"""The text field for messages, with its list of completions and the history of sent messages."""

import os
import re
from collections.abc import Callable, Sequence
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.document._document import EditResult
from textual.document._edit import Edit
from textual.message import Message
from textual.widgets import OptionList, TextArea
from textual.widgets.option_list import Option

from sapwood.conversation.completion import Choice
from sapwood.conversation.prompt_files import dropped_files, files_named
from sapwood.core.token_count import Count, show
from sapwood.display.text import one_line

_KEPT = 1_000
_SHOWN_LINES = 10
"""The most lines of a paste that are shown."""


class SentHistory:
    """The messages that were sent, oldest first, with a place in them for the arrow keys.

    What was typed and not sent is kept among them when something takes its place.

    >>> history = SentHistory(["one", "two"])
    >>> history.back("draft"), history.back("two"), history.forward("one"), history.forward("two")
    ('two', 'one', 'two', 'draft')
    """

    def __init__(self, sent: list[str] | None = None) -> None:
        self._sent = list(sent or [])
        self._place = len(self._sent)
        self._draft = ""

    def begin(self, sent: list[str]) -> None:
        """Puts the messages of a conversation before those that are known, which stay in order."""
        self._keep_draft()
        self._sent = [*(text for text in sent if text not in self._sent), *self._sent][-_KEPT:]
        self._place = len(self._sent)

    def add(self, text: str) -> None:
        """Adds a sent message."""
        self._keep_draft()
        if text.strip() and self._sent[-1:] != [text]:
            self._sent = [*self._sent, text][-_KEPT:]
        self._place = len(self._sent)

    def keep(self, text: str) -> None:
        """Adds a text that something else replaces, unless it is among the messages."""
        if text not in self._sent:
            self.add(text)

    def _keep_draft(self) -> None:
        """Ends a walk through the messages; the draft at which it began becomes one of them."""
        if self._place < len(self._sent) and self._draft.strip():
            self._sent = [*self._sent, self._draft]

    def _keep_shown(self, shown: str) -> None:
        """Keeps the shown text before another one is shown: as the draft, or if it was changed."""
        if self._place == len(self._sent):
            self._draft = shown
        elif shown.strip() and shown not in self._sent:
            self._sent = [*self._sent, shown]

    def back(self, shown: str) -> str | None:
        """The message before the shown one; the draft is kept. None at the beginning."""
        if self._place == 0:
            return None
        self._keep_shown(shown)
        self._place -= 1
        return self._sent[self._place]

    def forward(self, shown: str) -> str | None:
        """The message after the shown one, and the draft after the last. None at the end."""
        if self._place >= len(self._sent):
            return None
        self._keep_shown(shown)
        self._place += 1
        return self._draft if self._place == len(self._sent) else self._sent[self._place]

    def matching(self, words: str) -> list[str]:
        """Sent messages that contain these words, newest first, each once."""
        wanted = words.casefold()
        return [text for text in dict.fromkeys(reversed(self._sent)) if wanted in text.casefold()]


_LIST_KEYS = ("up", "down", "tab", "enter")


class FoldedPastes:
    """Long pastes, each with a chip that stands for it in the text field.

    >>> pastes = FoldedPastes()
    >>> pastes.fold("\\n".join("abcdefghijkl"))
    '[paste 1: 12 lines · tab opens]'
    >>> len(pastes.unfolded("See [paste 1: 12 lines · tab opens]").splitlines())
    12
    """

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def fold(self, pasted: str) -> str:
        """The chip for a paste; a short one is its own."""
        lines = len(pasted.splitlines())
        if lines <= _SHOWN_LINES:
            return pasted
        chip = f"[paste {len(self._texts) + 1}: {lines} lines · tab opens]"
        self._texts[chip] = pasted
        return chip

    def unfolded(self, text: str) -> str:
        """The text with the pastes in place of their chips."""
        for chip, pasted in self._texts.items():
            text = text.replace(chip, pasted)
        return text

    def folded(self, text: str) -> str:
        """The text with chips in place of the pastes that it has."""
        for chip, pasted in self._texts.items():
            text = text.replace(pasted, chip)
        return text

    def chip_around(self, line: str, column: int) -> tuple[int, int]:
        """The columns of the chip that this place is inside of; the place itself if in none."""
        for chip in self._texts:
            for found in re.finditer(re.escape(chip), line):
                if found.start() < column < found.end():
                    return found.span()
        return column, column

    def chip_before(self, line: str) -> str:
        """The chip at the end of a line; empty if there is none."""
        return next((chip for chip in self._texts if line.endswith(chip)), "")


class Composer(TextArea):
    """A field of several lines. Enter sends; a pasted text of several lines does not.

    A paste of more than ten lines is a chip: tab behind it opens it, and backspace removes it. No
    edit breaks it.

    Shift+enter, alt+enter, ctrl+j, and enter after a backslash make a new line. A picture that is
    dropped on the terminal is written as `@path`.

    `pick` handles the keys of the completion list first, and returns whether it did.
    """

    DEFAULT_CSS = """
    Composer {
        height: auto; max-height: 12; padding: 0 1; background: $background;
        border: round $primary 50%; scrollbar-size-vertical: 1;
        border-title-color: $accent; border-subtitle-color: $accent;
    }
    Composer:focus { border: round $primary; }
    Composer .text-area--cursor-line { background: transparent; }
    """

    # Ctrl+z suspends the program, as in a shell.
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+underscore,super+z", "undo", "Undo", show=False)
    ]

    class Sent(Message):
        """The person pressed enter."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Recalled(Message):
        """The person pressed up on the first line, to edit a queued or sent message."""

    class BlockKey(Message):
        """The person pressed a key for the highlighted block of the transcript."""

        def __init__(self, action: str) -> None:
            super().__init__()
            self.action = action

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id, show_line_numbers=False, placeholder="Message, or / for commands")
        self.sent = SentHistory()
        self.pastes = FoldedPastes()
        self.pick: Callable[[str], bool] = lambda key: False
        self.on_block = False
        self._burst = ""

    async def _on_key(self, event: events.Key) -> None:
        if self._is_in_burst(event):
            event.stop()
            event.prevent_default()
            if not self._burst:
                self.call_later(self._write_burst)
            self._burst += event.character or ""
            return
        self._write_burst()
        if self._handled(event.key):
            event.stop()
            event.prevent_default()
        else:
            await super()._on_key(event)

    def _is_in_burst(self, event: events.Key) -> bool:
        """Whether a letter came with others that wait, as from a program that types.

        They are written together: each edit wraps the line again, so a long line would take a time
        that grows with the square of its length.
        """
        if not event.is_printable or not (self._burst or self.message_queue_size):
            return False
        return bool(self._burst or self.text or not self._block_action(event.key))

    def _write_burst(self) -> None:
        written, self._burst = self._burst, ""
        if written:
            self._replace_via_keyboard(written, *self.selection)

    async def _on_paste(self, event: events.Paste) -> None:
        event.prevent_default()
        self.paste(event.text)

    def paste(self, text: str) -> None:
        """Writes a text at the cursor, in place of what is selected. A long one is a chip."""
        self._write_burst()
        pasted = text.replace("\r\n", "\n").replace("\r", "\n")
        self._replace_via_keyboard(dropped_files(text) or self.pastes.fold(pasted), *self.selection)

    def _handled(self, key: str) -> bool:
        if key in ("tab", "backspace") and self._change_chip(opens=key == "tab"):
            return True
        if key in _LIST_KEYS and self.pick(key):
            return True
        if not self.text and (action := self._block_action(key)):
            self.post_message(self.BlockKey(action))
        elif key == "enter" and self.line_to_cursor.endswith("\\"):
            self.action_delete_left()
            self.insert("\n")
        elif key == "enter":
            # A prompt stays in the field until it is stored. Then `forget` removes it.
            self.post_message(self.Sent(self.message))
        elif key in ("shift+enter", "ctrl+j", "alt+enter"):
            self.insert("\n")
        elif key == "up" and self.cursor_location[0] == 0:
            self.post_message(self.Recalled())
        elif key == "down" and self.cursor_location[0] == self.document.line_count - 1:
            self._replace_with(self.sent.forward(self.message))
        else:
            return False
        return True

    def edit(self, edit: Edit) -> EditResult:
        """Makes an edit. One that would break a chip takes all of it, or comes behind it."""
        (row, column), (last_row, last_column) = edit.top, edit.bottom
        begin, _ = self.pastes.chip_around(self.document.get_line(row), column)
        _, end = self.pastes.chip_around(self.document.get_line(last_row), last_column)
        if (begin, end) == (column, last_column):
            return super().edit(edit)
        begin = end if edit.top == edit.bottom else begin
        return super().edit(
            Edit(edit.text, (row, begin), (last_row, end), edit.maintain_selection_offset)
        )

    def _change_chip(self, *, opens: bool) -> bool:
        """Opens or removes the chip before the cursor; returns false if there is none."""
        chip = self.pastes.chip_before(self.line_to_cursor)
        if not chip or self.selected_text:
            return False
        row, column = self.cursor_location
        text = self.pastes.unfolded(chip) if opens else ""
        self.replace(text, (row, column - len(chip)), (row, column))
        return True

    @property
    def message(self) -> str:
        """The text that is sent, with the pastes that the field shows as chips."""
        return self.pastes.unfolded(self.text)

    def _block_action(self, key: str) -> str:
        if key == "end":
            return "end"
        return {"enter": "open", "y": "copy"}.get(key, "") if self.on_block else ""

    def recall(self) -> None:
        """Shows the message that was sent before."""
        self._replace_with(self.sent.back(self.message))

    def put(self, text: str) -> None:
        """Replaces the text of the field, which `up` brings back. Pastes in it are chips again."""
        if self.message != text:
            self.sent.keep(self.message)
        self._replace_with(text)

    def forget(self, text: str) -> None:
        """Removes a text that was sent, and keeps what was typed after it."""
        if self.message.startswith(text):
            self._replace_with(self.message[len(text) :])

    def show_files(self, folder: str = "") -> None:
        """Names the files that the text sends, or where it runs, in the upper line of the frame.

        Relative names start at `folder`.
        """
        sent = [
            f"{os.path.basename(each.name) or each.name} {show(Count(each.tokens, exact=False))}"
            for each in files_named(self.message, folder)
        ]
        title = f"sends {one_line(', '.join(sent))}" if sent else _shell_title(self.text)
        self.border_title = Content(title).markup

    def complete(self, word: str) -> None:
        """Replaces the word before the cursor by a completion."""
        row, column = self.cursor_location
        self.replace(
            word if word.endswith("/") else f"{word} ",
            (row, column - len(self.word)),
            (row, column),
        )

    @property
    def word(self) -> str:
        """The word before the cursor."""
        return self.line_to_cursor.rpartition(" ")[2]

    @property
    def line_to_cursor(self) -> str:
        """The text of the line up to the cursor."""
        row, column = self.cursor_location
        return self.document.get_line(row)[:column]

    def _replace_with(self, text: str | None) -> None:
        if text is not None:
            self.text = self.pastes.folded(text)
            self.move_cursor(self.document.end)


class CompletionPopup(OptionList, can_focus=False):
    """The list of completions. It is shown while there are any; the composer keeps the focus."""

    DEFAULT_CSS = """
    CompletionPopup {
        display: none; layer: over; dock: bottom; width: auto; min-width: 40; max-width: 100%;
        height: auto; max-height: 12; padding: 0 1; border: round $accent; background: $surface;
        scrollbar-size-vertical: 1; scrollbar-background: $surface;
        scrollbar-color: $panel-lighten-2; text-wrap: nowrap; text-overflow: ellipsis;
    }
    """

    moved = False
    """Whether the person moved in the list since it was filled."""

    _offered: tuple[Choice, ...] = ()

    def offer(self, found: Sequence[Choice]) -> None:
        """Shows these choices, or hides the list. The same choices leave the list as it is."""
        if found and tuple(found) == self._offered and self.display:
            return
        self._offered = tuple(found)
        self.moved = False
        self.clear_options()
        self.display = bool(found)
        if found:
            words = max(len(each.word) for each in found) + 1
            helps = max(len(each.help) for each in found) + 1
            # Without ids: a mark, an agent and a past conversation may have the same name.
            self.add_options([Option(_line(each, words, helps)) for each in found])
            self.highlighted = 0

    def move(self, key: str) -> None:
        """Moves the highlight up or down."""
        self.moved = True
        if key == "up":
            self.action_cursor_up()
        else:
            self.action_cursor_down()

    @property
    def chosen(self) -> str | None:
        """The highlighted word."""
        place = self.highlighted
        return self._offered[place].word if place is not None else None


def _shell_title(text: str) -> str:
    """What the frame says while a shell command is typed."""
    if not text.startswith("!") or text.startswith("!["):
        return ""
    return (
        "runs in your shell, output stays here" if text.startswith("!!") else "runs in your shell"
    )


def _line(choice: Choice, words: int, helps: int) -> Content:
    """The usage comes last, because the end of a line is cut on a narrow terminal."""
    explained = one_line(choice.help)
    return Content.assemble(
        (f"{choice.word:<{words}} ", "bold $accent"),
        (f"{explained:<{helps}} " if choice.usage else explained, "$foreground"),
        (choice.usage, "$faint"),
    )
