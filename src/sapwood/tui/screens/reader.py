"""A page to read: any text, scrolled with the keys of a pager."""

from typing import ClassVar

from rich.console import RenderableType
from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from sapwood.tui.screens.sheet import Sheet

__all__ = ["Reader"]


class Reader(Sheet[str]):
    """Shows what `body` gives."""

    HEADING: ClassVar = ""
    FOOT: ClassVar = "↑↓ pgup pgdn scroll · esc closes"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "close", "Close", show=False),
        Binding("j", "down", "Down", show=False),
        Binding("k", "up", "Up", show=False),
    ]

    async def body(self) -> Content | RenderableType:
        """The text."""
        raise NotImplementedError

    def compose(self) -> ComposeResult:
        """The text in a frame."""
        with self.frame(self.HEADING, self.FOOT), VerticalScroll(id="reader"):
            yield Static("…", id="text")

    def on_mount(self) -> None:
        """Loads the text."""
        self.query_one("#reader").focus()
        self._load()

    @work(exclusive=True)
    async def _load(self) -> None:
        body = await self.body()
        for static in self.query("#text").results(Static):
            static.update(body)

    def action_down(self) -> None:
        """A line down."""
        self.query_one("#reader").scroll_relative(y=1, animate=False)

    def action_up(self) -> None:
        """A line up."""
        self.query_one("#reader").scroll_relative(y=-1, animate=False)
