"""The page that asks whether a tool may run, when no permission rule decides.

It shows all of what would be done. An answer that allows it works only after the end was shown.
"""

from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from sapwood.core.plural import counted
from sapwood.display.permission_text import (
    AnswerChoice,
    answer_choices,
    approval_lines,
    invisible_characters,
    request_sentence,
)
from sapwood.display.text import cut
from sapwood.display.visible_text import visible
from sapwood.tui.screens.approval_text import ApprovalText
from sapwood.tui.screens.modal_page import ModalPage
from sapwood.workspace.permissions.permission_gate import (
    Deny,
    PermissionAnswer,
    PermissionQuestion,
)

_FRAME = 2
_NAME = 40
_LEAST_ROWS = 2


class PermissionPage(ModalPage[PermissionAnswer]):
    """Returns the answer; None if the person closes the page to stop the turn.

    `agent_name` names the agent if it is not the one on the screen.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("pageup", "scroll(-1)", "Up", show=False, priority=True),
        Binding("pagedown", "scroll(1)", "Down", show=False, priority=True),
    ]

    def __init__(self, question: PermissionQuestion, agent_name: str = "") -> None:
        super().__init__()
        self._question = question
        self._sentence = request_sentence(question, cut(agent_name, _NAME))
        self._lines = approval_lines(question)
        self._choices = answer_choices(question)
        self._text = ApprovalText(self._lines, self._tell_what_is_left)

    def compose(self) -> ComposeResult:
        """Yields the question, the text of what would be done, and the answers."""
        with self.frame("Allow this?", "enter answers · esc denies and stops the turn"):
            yield Static(self._head(), id="asked")
            yield self._text
            yield Static(id="left")
            yield Static(self._warning(), id="warning")
            yield OptionList(*map(_option, self._choices), id="answers")
            yield Input(placeholder="Why not, or what to do instead", id="why")

    def on_mount(self) -> None:
        """Highlights the first answer, and hides the field for the reason."""
        self.query_one("#why").display = self.query_one("#left").display = False
        self.query_one("#warning").display = invisible_characters(self._lines) > 0
        answers = self.query_one(OptionList)
        answers.highlighted = 0
        answers.focus()
        self._fit()

    def on_resize(self) -> None:
        """Gives the text the rows that the answers leave free."""
        self._fit()

    def _fit(self) -> None:
        if not self.query("#why"):
            return  # the page is opening or closing
        below = sum(1 for name in ("#left", "#warning") if self.query_one(name).display)
        answers = 1 if self.query_one("#why").display else len(self._choices)
        rows = self.page_rows - _FRAME - 2 - below - answers
        self._text.styles.max_height = max(_LEAST_ROWS, rows)
        self._text.note_shown()

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

    @on(OptionList.OptionSelected)
    def _selected(self, event: OptionList.OptionSelected) -> None:
        self._answer(self._choices[event.option_index])

    @on(Input.Submitted, "#why")
    def _reason_entered(self, event: Input.Submitted) -> None:
        self.dismiss(Deny(event.value.strip()))

    def on_key(self, event: events.Key) -> None:
        """Gives the answer of a key, or scrolls on."""
        if self.query_one("#why").has_focus:
            return
        if event.key == "space":
            event.stop()
            self._text.page(1)
        for choice in self._choices:
            if event.character == choice.key:
                event.stop()
                self._answer(choice)

    def _answer(self, choice: AnswerChoice) -> None:
        """Returns an answer, asks for the reason first, or scrolls on if not all was shown."""
        self._text.note_shown_now()
        if choice.allows and self._text.rows_left:
            self._text.page(1)
        elif choice.answer is not None:
            self.dismiss(choice.answer)
        else:
            self.query_one("#answers").display = False
            why = self.query_one("#why")
            why.display = True
            why.focus()
            self._fit()

    def action_scroll(self, pages: int) -> None:
        """Scrolls the text."""
        self._text.page(pages)


def _option(choice: AnswerChoice) -> Option:
    return Option(Content.assemble((f"{choice.key}  ", "bold $accent"), choice.words))
