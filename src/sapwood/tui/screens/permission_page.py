"""The page that asks whether a tool may run, when no permission rule decides."""

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from sapwood.display.text import cut, one_line, plain
from sapwood.tui.screens.modal_page import ModalPage
from sapwood.workspace.permissions.permission_gate import (
    AllowAlways,
    AllowOnce,
    Deny,
    PermissionAnswer,
    PermissionQuestion,
)

__all__ = ["PermissionPage"]

_LONGEST = 20_000


class PermissionPage(ModalPage[PermissionAnswer]):
    """Returns the answer; None if the person closes the page to stop the turn."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "answer('once')", "Allow"),
        Binding("a", "answer('always')", "Allow until you leave"),
        Binding("n", "answer('no')", "Deny"),
        Binding("t", "answer('why')", "Deny with a reason"),
        Binding("pageup", "scroll(-1)", "Up", show=False, priority=True),
        Binding("pagedown", "scroll(1)", "Down", show=False, priority=True),
    ]

    def __init__(self, question: PermissionQuestion, who: str) -> None:
        super().__init__()
        self._question = question
        self._who = who

    def compose(self) -> ComposeResult:
        """Yields the question, the preview and the answers."""
        question = self._question
        with self.frame("Allow this?", "enter answers · esc denies and stops the turn"):
            yield Static(self._head(), id="asked")
            with VerticalScroll(id="would", can_focus=False):
                yield Static(_preview(question.preview), id="shown")
            yield OptionList(*self._answers(), id="answers")
            yield Input(placeholder="Why not, or what to do instead", id="why")

    def on_mount(self) -> None:
        """Highlights the first answer, and hides the field for the reason."""
        self.query_one("#why").display = False
        self.query_one("#would").display = self._question.preview != self._question.subject
        answers = self.query_one(OptionList)
        answers.highlighted = 0
        answers.focus()

    def _head(self) -> Content:
        question = self._question
        subject = plain(question.subject)
        return Content.assemble(
            (cut(self._who, 60), "bold"),
            " wants to run ",
            (question.tool, "bold $accent"),
            (f"\n{subject}" if subject else "", "bold"),
            (f"\n{question.why}", "$faint"),
        )

    def _answers(self) -> list[Option]:
        rules = ", ".join(one_line(str(rule)) for rule in self._question.always)
        lines = [("once", "y", "Allow once")]
        if rules:
            lines.append(("always", "a", f"Allow in this folder until you leave: {rules}"))
        lines += [("no", "n", "Deny"), ("why", "t", "Deny with a reason")]
        return [
            Option(Content.assemble((f"{key}  ", "bold $accent"), words), name)
            for name, key, words in lines
        ]

    @on(OptionList.OptionSelected)
    def _selected(self, event: OptionList.OptionSelected) -> None:
        self.action_answer(event.option_id or "no")

    @on(Input.Submitted, "#why")
    def _reason_entered(self, event: Input.Submitted) -> None:
        self.dismiss(Deny(event.value.strip()))

    def action_answer(self, name: str) -> None:
        """Returns an answer, or asks for the reason first."""
        match name:
            case "once":
                self.dismiss(AllowOnce())
            case "always" if self._question.always:
                self.dismiss(AllowAlways())
            case "why":
                why = self.query_one("#why")
                why.display = True
                why.focus()
            case "no":
                self.dismiss(Deny())
            case _:
                pass

    def action_scroll(self, pages: int) -> None:
        """Scrolls the preview."""
        preview = self.query_one("#would")
        preview.scroll_relative(y=pages * max(1, preview.size.height - 2), animate=False)


def _preview(text: str) -> Content:
    """The preview, with a diff in colours."""
    return Content("\n").join(
        Content.styled(line, _colour(line)) for line in plain(text[:_LONGEST]).split("\n")
    )


def _colour(line: str) -> str:
    if line.startswith(("+++", "---", "@@")):
        return "$faint"
    return {"+": "$success", "-": "$error"}.get(line[:1], "")
