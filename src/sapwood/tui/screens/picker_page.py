"""A page to pick from: a filter, a list, and a preview of the highlighted line."""

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

from sapwood.core.content import Text
from sapwood.core.errors import SapwoodError
from sapwood.core.turn import Turn
from sapwood.display.text import cut, plain
from sapwood.tui.key_order import LIST
from sapwood.tui.screens.modal_page import ModalPage

_SEARCHING_AFTER = 0.4
"""Seconds after which the page says that it is searching."""


class PickerItem(Struct, frozen=True):
    """A line of the list, and the id that the page returns when it is picked."""

    id: str
    line: Content


class PickerPage(ModalPage[str]):
    """Returns the id of the picked line, or None."""

    HEADING: ClassVar = ""
    FOOT: ClassVar = "enter picks · esc closes"
    HINT: ClassVar = "Type to filter"
    NOTHING: ClassVar = "The list is empty."
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move(-1)", "Up", show=False, priority=True),
        Binding("down", "move(1)", "Down", show=False, priority=True),
        Binding("pageup", "scroll(-1)", "Preview up", show=False, priority=True),
        Binding("pagedown", "scroll(1)", "Preview down", show=False, priority=True),
    ]

    _listed: str | None = None
    """What was typed into the filter when the list was filled."""

    @property
    def heading(self) -> str:
        """The title of the page."""
        return self.HEADING

    async def items(self, typed: str) -> Sequence[PickerItem]:
        """The lines of the list that match the filter."""
        raise NotImplementedError

    async def preview(self, id: str) -> Content:
        """The preview of a line."""
        return Content("")

    def compose(self) -> ComposeResult:
        """Yields the filter, and below it the list and the preview."""
        with self.frame(self.heading, self.FOOT):
            yield Input(placeholder=self.HINT, id="filter")
            yield Static(id="none", markup=False)
            with Horizontal(id="columns"):
                yield OptionList(id="list")
                with VerticalScroll(id="preview", can_focus=False):
                    yield Static(id="shown")

    def on_mount(self) -> None:
        """Focuses the filter and fills the list."""
        self.query_one(Input).focus()
        self._fill("")

    @on(Input.Changed, "#filter")
    def _typed(self, event: Input.Changed) -> None:
        self._fill(event.value)

    @work(exclusive=True, group=LIST)
    async def _fill(self, typed: str) -> None:
        is_filled = False

        def show_searching() -> None:
            if not is_filled:  # a timer that is stopped may have posted its call already
                self.show_sentence("Searching …")

        looking = self.set_timer(_SEARCHING_AFTER, show_searching)
        try:
            await self.fill(typed)
        except SapwoodError as error:
            self.query("#columns").set(display=False)
            self.show_sentence(str(error))
        finally:
            is_filled = True
            looking.stop()

    def show_sentence(self, words: str) -> None:
        """Shows a sentence in place of the list, unless the page was closed in the meantime."""
        for none in self.query("#none").results(Static):
            none.update(plain(words))
            none.display = True

    async def fill(self, typed: str) -> None:
        """Fills the list with the lines that match the filter."""
        found = await self.items(typed)
        self._listed = typed
        for options in self.query("#list").results(OptionList):  # none if the page was closed
            options.clear_options()
            options.add_options([Option(item.line, item.id) for item in found])
            options.highlighted = 0 if found else None
        self.show_sentence(self.NOTHING)
        self.query("#none").set(display=not found)
        self.query("#columns").set(display=bool(found))

    @on(OptionList.OptionHighlighted)
    def _highlight_changed(self, event: OptionList.OptionHighlighted) -> None:
        if event.option_id:
            self._preview(event.option_id)

    @work(exclusive=True, group="preview")
    async def _preview(self, id: str) -> None:
        shown = await self.preview(id)
        for static in self.query("#shown").results(Static):
            static.update(shown)

    @on(Input.Submitted, "#filter")
    async def _submitted(self, event: Input.Submitted) -> None:
        if self._listed != event.value:  # the list may still be that of what was typed before
            self.workers.cancel_group(self, LIST)  # pyright: ignore[reportUnknownMemberType]
            await self.fill(event.value)
        self.pick(self.highlighted)

    @on(OptionList.OptionSelected)
    def _selected(self, event: OptionList.OptionSelected) -> None:
        self.pick(event.option_id)

    def pick(self, id: str | None) -> None:
        """Closes the page and returns an id."""
        if id is not None:
            self.dismiss(id)

    @property
    def highlighted(self) -> str | None:
        """The id of the highlighted line."""
        option = self.query_one(OptionList).highlighted_option
        return option.id if option else None

    def action_move(self, step: int) -> None:
        """Moves the highlight up or down; the filter keeps the focus."""
        options = self.query_one(OptionList)
        if step < 0:
            options.action_cursor_up()
        else:
            options.action_cursor_down()

    def action_scroll(self, pages: int) -> None:
        """Scrolls the preview."""
        preview = self.query_one("#preview")
        preview.scroll_relative(y=pages * max(1, preview.size.height - 2), animate=False)


def prompt_line(turn: Turn, width: int) -> str:
    """The prompt of a turn in one line; a turn without one was a wake-up."""
    words = " ".join(part.text for part in turn.prompt if isinstance(part, Text))
    return cut(words[:500], width) or "(wake-up)"
