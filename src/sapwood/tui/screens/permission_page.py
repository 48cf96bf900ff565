"""The page that asks whether a tool may run, when no permission rule decides.

It shows all of what would be done. An answer that allows it works only after the end was shown.
No key answers in the first second, or while somebody types: that text goes to the composer.

The scrolling text of a permission question, which knows how far it was shown.

A sign in the gutter tells a wrapped line from a new one.
"""

from collections.abc import Callable, Sequence
from math import inf
from time import monotonic
from typing import ClassVar

from msgspec import Struct
from rich.cells import get_character_cell_size
from rich.segment import Segment
from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from sapwood.core.plural import counted
from sapwood.display.permission_text import (
    AnswerChoice,
    ApprovalLine,
    answer_choices,
    approval_lines,
    invisible_characters,
    request_sentence,
    wrapped_rows,
)
from sapwood.display.text import cut, visible
from sapwood.tui.composer import Composer
from sapwood.tui.screens.modal_page import ModalPage
from sapwood.tui.terminal import app_of
from sapwood.workspace.permissions.permission_gate import PermissionAnswer, PermissionQuestion

_FRAME = 2
_TOASTS = 1
"""Rows above the page for a toast, so that none covers the question."""
_KEY = 3
"""Columns of the key in front of an answer."""
_NAME = 40
_LEAST_ROWS = 2
READING_SECONDS = 1.0
"""How long after the page was drawn no key answers: it was meant for what was shown before."""

_TYPING_SECONDS = 1.5
"""How long after a letter that answers nothing no key answers: somebody writes a text."""


class PermissionPage(ModalPage[PermissionAnswer]):
    """Returns the answer; None if the person closes the page to stop the turn.

    `agent_name` names the agent if it is not the one on the screen. What is typed as a text goes to
    `composer`. While that has a message, enter alone answers nothing: it may be meant to send it.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("pageup", "scroll(-1)", "Up", show=False, priority=True),
        Binding("pagedown", "scroll(1)", "Down", show=False, priority=True),
    ]

    def __init__(
        self,
        question: PermissionQuestion,
        agent_name: str = "",
        composer: Composer | None = None,
    ) -> None:
        super().__init__()
        self._question = question
        self._composer = composer
        self._sentence = request_sentence(question, cut(agent_name, _NAME))
        self._lines = approval_lines(question)
        self._choices = answer_choices(question)
        self._text = ApprovalText(self._lines, self._tell_what_is_left)
        self._answers_from = inf
        self._typing_until = 0.0
        self._wrapped_for = 0

    def compose(self) -> ComposeResult:
        """Yields the question, the text of what would be done, and the answers."""
        title = "A question for you" if self._question.choices else "Allow this?"
        with self.frame(title, self._foot):
            yield Static(self._head(), id="asked")
            yield self._text
            yield Static(id="left")
            yield Static(self._warning(), id="warning")
            yield OptionList(id="answers")
            yield Input(id="why")

    @property
    def _foot(self) -> str:
        hint = "stops" if self._question.choices else "denies and stops"
        return f"enter answers · esc {hint} the turn"

    def on_mount(self) -> None:
        """Highlights the first answer, and hides the field for the reason."""
        self.query_one("#why").display = self.query_one("#left").display = False
        self.query_one("#warning").display = invisible_characters(self._lines) > 0
        self.query_one(OptionList).focus()
        self._fit()
        self.call_after_refresh(self._fit)
        self.call_after_refresh(self._begin)

    def _begin(self) -> None:
        """Lets keys answer soon: the page was drawn."""
        self._answers_from = monotonic() + READING_SECONDS

    def on_resize(self) -> None:
        """Gives the text the rows that the answers leave free, now and for the new width."""
        self._fit()
        self.call_after_refresh(self._fit)

    def _fit(self) -> None:
        if not self.query("#why"):
            return  # the page is opening or closing
        below = sum(1 for name in ("#left", "#warning") if self.query_one(name).display)
        answers = self._fill_answers()
        if self.query_one("#why").display:
            answers = 1
        asked = max(2, self.query_one("#asked").outer_size.height)
        rows = self.page_rows - _TOASTS - _FRAME - asked - below - answers
        self._text.styles.max_height = max(_LEAST_ROWS, rows)
        self._text.note_shown()

    def _fill_answers(self) -> int:
        """Wraps the answers for the width of the page; returns how many rows they take."""
        answers = self.query_one("#answers", OptionList)
        room = self.query_one("#frame").content_size.width - _KEY
        if room <= 0:  # before the first layout
            room = app_of(self).size.width
        wrapped = [Content(each.words).wrap(room) for each in self._choices]
        if room != self._wrapped_for:
            self._wrapped_for = room
            first = None if self._has_draft else 0
            highlighted = first if answers.highlighted is None else answers.highlighted
            answers.set_options(map(_option, self._choices, wrapped))
            answers.highlighted = highlighted
        return sum(map(len, wrapped))

    def _head(self) -> Content:
        return Content.assemble(
            (visible(self._sentence).replace("\n", "␊"), "bold"),
            (f"\n{cut(self._question.why, 200)}", "$faint"),
        )

    def _warning(self) -> Content:
        count = invisible_characters(self._lines)
        what = (
            "1 place with invisible characters"
            if count == 1
            else f"{count:,} places with invisible characters"
        )
        return Content.styled(f"⚠ {what}, shown as ␛ or \\u202e", "$warning")

    def _tell_what_is_left(self) -> None:
        """Says how much of the text was not shown yet."""
        if not self.query("#left"):
            return  # the page is closing
        left, line = self._text.rows_left, self.query_one("#left", Static)
        if line.display != self._text.is_long:
            line.display = self._text.is_long
            self._fit()
        if left:
            lines = counted(left, "more line")
            line.update(
                Content.styled(f"▼ {lines}: press space or page down, then answer", "$warning")
            )
        else:
            line.update(Content.styled("■ end · page up scrolls back", "$faint"))

    # Answers

    @property
    def takes_answers(self) -> bool:
        """Whether a key or click now answers, because what it answers was shown before."""
        return self._counts(monotonic())

    def _counts(self, at: float) -> bool:
        return at >= max(self._answers_from, self._typing_until)

    @on(OptionList.OptionSelected)
    def _selected(self, event: OptionList.OptionSelected) -> None:
        if self.takes_answers:
            self._answer(self._choices[event.option_index])

    @on(Input.Submitted, "#why")
    def _reason_entered(self, event: Input.Submitted) -> None:
        written = next(each for each in self._choices if each.answer is None)
        self.dismiss(written.given(event.value.strip()))

    def on_key(self, event: events.Key) -> None:
        """Gives the answer of a key, or scrolls on. In a text that somebody types, no key does."""
        if self.query_one("#why").has_focus:
            return
        choice = next((each for each in self._choices if each.key == event.character), None)
        if event.key == "space" and event.time >= self._typing_until:
            event.stop()
            self._text.page(1)
        elif event.is_printable and (choice is None or not self._counts(event.time)):
            event.stop()
            self._write(event.character or "", event.time)
        elif choice is not None:
            event.stop()
            self._answer(choice)
        elif event.key == "enter":
            self._check_enter(event)

    def _check_enter(self, event: events.Key) -> None:
        """Lets enter give the highlighted answer, unless it may be meant for a message."""
        if not self._counts(event.time):
            event.stop()
        elif self.query_one(OptionList).highlighted is None:
            self.notify("A question waits. Press a letter below, or ↓ and enter.")

    def on_paste(self, event: events.Paste) -> None:
        """Puts a paste into the composer."""
        if not self.query_one("#why").has_focus:
            event.stop()
            self._write(event.text, event.time)

    def _write(self, text: str, at: float) -> None:
        """Puts a text that somebody types into the composer, and says so at its first letter."""
        if at >= self._typing_until:
            self.notify("What you type is not sent. It stays in the composer.")
        self._typing_until = at + _TYPING_SECONDS
        if self._composer is not None:
            self._composer.paste(text)
        if self._has_draft:
            self.query_one(OptionList).highlighted = None

    @property
    def _has_draft(self) -> bool:
        return self._composer is not None and bool(self._composer.text.strip())

    def _answer(self, choice: AnswerChoice) -> None:
        """Returns an answer, asks for the reason first, or scrolls on if not all was shown."""
        self._text.note_shown_now()
        if choice.allows and self._text.rows_left:
            self._text.page(1)
        elif choice.answer is not None:
            self.dismiss(choice.answer)
        else:
            self.query_one("#why", Input).placeholder = choice.hint
            self._ask_why("enter answers · esc goes back", shown=True)

    def _ask_why(self, foot: str, *, shown: bool) -> None:
        """Shows the field for the reason in place of the answers, or the answers again."""
        why, answers = self.query_one("#why", Input), self.query_one("#answers")
        why.display, answers.display = shown, not shown
        why.value = ""
        (why if shown else answers).focus()
        self.query_one("#frame").border_subtitle = f" {foot} "
        self._fit()

    def action_close(self) -> None:
        """Goes back from the reason to the answers, or closes the page."""
        if self.query_one("#why").display:
            self._ask_why(self._foot, shown=False)
        else:
            super().action_close()

    def action_scroll(self, pages: int) -> None:
        """Scrolls the text."""
        self._text.page(pages)


def _option(choice: AnswerChoice, rows: Sequence[Content]) -> Option:
    text = Content("\n" + " " * _KEY).join(rows)
    return Option(Content.assemble((f"{choice.key:<{_KEY}}", "bold $accent"), text))


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
        "approval--sentence",
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
