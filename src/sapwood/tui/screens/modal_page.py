"""The base class of all pages over the conversation, and pages of scrolling text."""

from typing import ClassVar, Protocol, TypeVar, runtime_checkable

from rich.console import RenderableType
from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from sapwood.tui.terminal import app_of

T = TypeVar("T")


@runtime_checkable
class PageRoom(Protocol):
    """An application that does not give its pages the whole terminal."""

    @property
    def page_rows(self) -> int:
        """How many rows a page may take."""
        ...


class ModalPage(ModalScreen[T | None]):
    """A page over the conversation with a frame. Escape closes it and changes nothing."""

    CSS_PATH = "modal_page.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "close", "Close"),
        Binding("ctrl+c", "copy_or_close", "Close", show=False, priority=True),
    ]
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide")]  # noqa: RUF012 (as Textual types it)

    def frame(self, title: str, foot: str) -> Vertical:
        """The frame of the page, with a title above and a line of keys below."""
        frame = Vertical(id="frame")
        frame.border_title = f" {title} "
        frame.border_subtitle = f" {foot} "
        return frame

    @property
    def page_rows(self) -> int:
        """How many rows of the terminal a page may take."""
        app = app_of(self)
        return app.page_rows if isinstance(app, PageRoom) else app.size.height

    def action_close(self) -> None:
        """Closes the page."""
        self.dismiss(None)

    def action_copy_or_close(self) -> None:
        """Copies what is selected; closes the page if nothing is."""
        field = self.focused
        selected = field.selected_text if isinstance(field, Input) else self.get_selected_text()
        if selected:
            app_of(self).copy_to_clipboard(selected)
        else:
            self.dismiss(None)


class TextPage(ModalPage[str]):
    """A page that shows the text of `body`, with the keys of a pager."""

    HEADING: ClassVar = ""
    FOOT: ClassVar = "↑↓ pgup pgdn scroll · esc closes"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "close", "Close", show=False),
        Binding("j", "down", "Down", show=False),
        Binding("k", "up", "Up", show=False),
    ]

    async def body(self) -> Content | RenderableType:
        """The text to show."""
        raise NotImplementedError

    def compose(self) -> ComposeResult:
        """Yields the text in a frame."""
        with self.frame(self.HEADING, self.FOOT), VerticalScroll(id="reader"):
            yield Static("…", id="text")

    def on_mount(self) -> None:
        """Starts to load the text."""
        self.query_one("#reader").focus()
        self._load()

    @work(exclusive=True)
    async def _load(self) -> None:
        body = await self.body()
        for static in self.query("#text").results(Static):
            static.update(body)

    def action_down(self) -> None:
        """Scrolls a line down."""
        self.query_one("#reader").scroll_relative(y=1, animate=False)

    def action_up(self) -> None:
        """Scrolls a line up."""
        self.query_one("#reader").scroll_relative(y=-1, animate=False)
