"""A page to pick from: a line to filter by, a list, and a preview of what is lit."""

from collections.abc import Sequence
from typing import ClassVar

from msgspec import Struct
from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from sapwood.core.errors import SapwoodError
from sapwood.tui.key_order import LIST
from sapwood.tui.screens.sheet import Sheet

__all__ = ["Item", "Picker"]

_SOON = 0.4
"""Seconds after which it is said that something is being looked for."""


class Item(Struct, frozen=True):
    """A line of the list. `id` is what picking it gives."""

    id: str
    line: Content


class Picker(Sheet[str]):
    """Gives the id of what was picked, or nothing."""

    HEADING: ClassVar = ""
    FOOT: ClassVar = "enter picks · esc closes"
    HINT: ClassVar = "Type to filter"
    NOTHING: ClassVar = "There is nothing here."
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move(-1)", "Up", show=False, priority=True),
        Binding("down", "move(1)", "Down", show=False, priority=True),
        Binding("pageup", "scroll(-1)", "Preview up", show=False, priority=True),
        Binding("pagedown", "scroll(1)", "Preview down", show=False, priority=True),
    ]

    async def items(self, typed: str) -> Sequence[Item]:
        """What can be picked, given what was typed."""
        raise NotImplementedError

    async def preview(self, id: str) -> Content:
        """What stands beside the list while this is lit."""
        return Content("")

    def compose(self) -> ComposeResult:
        """Filter above, list and preview below."""
        with self.frame(self.HEADING, self.FOOT):
            yield Input(placeholder=self.HINT, id="filter")
            yield Static(id="none")
            with Horizontal(id="columns"):
                yield OptionList(id="list")
                with VerticalScroll(id="preview", can_focus=False):
                    yield Static(id="shown")

    def on_mount(self) -> None:
        """Shows everything."""
        self.query_one(Input).focus()
        self._fill("")

    @on(Input.Changed, "#filter")
    def _typed(self, event: Input.Changed) -> None:
        self._fill(event.value)

    @work(exclusive=True, group=LIST)
    async def _fill(self, typed: str) -> None:
        looking = self.set_timer(_SOON, lambda: self.say("Looking …"))
        try:
            await self.fill(typed)
        except SapwoodError as error:
            self.query_one("#columns").display = False
            self.say(str(error))
        finally:
            looking.stop()

    def say(self, words: str) -> None:
        """Something stands where the list would."""
        none = self.query_one("#none", Static)
        none.update(words)
        none.display = True

    async def fill(self, typed: str) -> None:
        """Lists what fits what was typed."""
        found = await self.items(typed)
        if not self.query("#list"):  # closed meanwhile
            return
        options = self.query_one(OptionList)
        options.clear_options()
        options.add_options([Option(item.line, item.id) for item in found])
        options.highlighted = 0 if found else None
        self.say(self.NOTHING)
        self.query_one("#none").display = not found
        self.query_one("#columns").display = bool(found)

    @on(OptionList.OptionHighlighted)
    def _lit(self, event: OptionList.OptionHighlighted) -> None:
        if event.option_id:
            self._preview(event.option_id)

    @work(exclusive=True, group="preview")
    async def _preview(self, id: str) -> None:
        shown = await self.preview(id)
        for static in self.query("#shown").results(Static):
            static.update(shown)

    @on(Input.Submitted, "#filter")
    def _submitted(self) -> None:
        self.pick(self.lit)

    @on(OptionList.OptionSelected)
    def _selected(self, event: OptionList.OptionSelected) -> None:
        self.pick(event.option_id)

    def pick(self, id: str | None) -> None:
        """Takes what is lit."""
        if id is not None:
            self.dismiss(id)

    @property
    def lit(self) -> str | None:
        """The id of the lit line."""
        option = self.query_one(OptionList).highlighted_option
        return option.id if option else None

    def action_move(self, step: int) -> None:
        """Up or down the list, while the filter keeps the focus."""
        options = self.query_one(OptionList)
        if step < 0:
            options.action_cursor_up()
        else:
            options.action_cursor_down()

    def action_scroll(self, pages: int) -> None:
        """Scrolls the preview."""
        preview = self.query_one("#preview")
        preview.scroll_relative(y=pages * max(1, preview.size.height - 2), animate=False)
