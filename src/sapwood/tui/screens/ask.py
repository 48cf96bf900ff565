"""May it? A tool wants to do what no rule speaks of, and somebody is here to be asked."""

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from sapwood.display.text import cut, one_line, plain
from sapwood.tui.screens.sheet import Sheet
from sapwood.workspace.permissions.asking import Always, Answer, No, Once, Question

__all__ = ["AskPage"]

_LONGEST = 20_000


class AskPage(Sheet[Answer]):
    """Gives the answer; nothing if the person would rather stop everything."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "answer('once')", "Yes"),
        Binding("a", "answer('always')", "Always"),
        Binding("n", "answer('no')", "No"),
        Binding("t", "answer('why')", "No, and say why"),
        Binding("pageup", "scroll(-1)", "Up", show=False, priority=True),
        Binding("pagedown", "scroll(1)", "Down", show=False, priority=True),
    ]

    def __init__(self, question: Question, who: str) -> None:
        super().__init__()
        self._question = question
        self._who = who

    def compose(self) -> ComposeResult:
        """Who wants what, what it would do, and the answers."""
        question = self._question
        with self.frame("May it?", "enter answers · esc says no and stops the turn"):
            yield Static(self._head(), id="asked")
            with VerticalScroll(id="would", can_focus=False):
                yield Static(_preview(question.preview), id="shown")
            yield OptionList(*self._answers(), id="answers")
            yield Input(placeholder="Why not, or what to do instead", id="why")

    def on_mount(self) -> None:
        """The first answer is lit."""
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
        lines = [("once", "y", "Yes, this time")]
        if rules:
            lines.append(("always", "a", f"Yes, and ask no more here: {rules}"))
        lines += [("no", "n", "No"), ("why", "t", "No, and tell it why")]
        return [
            Option(Content.assemble((f"{key}  ", "bold $accent"), words), name)
            for name, key, words in lines
        ]

    @on(OptionList.OptionSelected)
    def _selected(self, event: OptionList.OptionSelected) -> None:
        self.action_answer(event.option_id or "no")

    @on(Input.Submitted, "#why")
    def _told(self, event: Input.Submitted) -> None:
        self.dismiss(No(event.value.strip()))

    def action_answer(self, name: str) -> None:
        """Answers, unless there is more to say."""
        match name:
            case "once":
                self.dismiss(Once())
            case "always" if self._question.always:
                self.dismiss(Always())
            case "why":
                why = self.query_one("#why")
                why.display = True
                why.focus()
            case "no":
                self.dismiss(No())
            case _:
                pass

    def action_scroll(self, pages: int) -> None:
        """Scrolls what would be done."""
        preview = self.query_one("#would")
        preview.scroll_relative(y=pages * max(1, preview.size.height - 2), animate=False)


def _preview(text: str) -> Content:
    """A diff in its colours."""
    return Content("\n").join(
        Content.styled(line, _colour(line)) for line in plain(text[:_LONGEST]).split("\n")
    )


def _colour(line: str) -> str:
    if line.startswith(("+++", "---", "@@")):
        return "$faint"
    return {"+": "$success", "-": "$error"}.get(line[:1], "")
