"""The find bar: searches for words in the shown conversation."""

from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.message import Message
from textual.widgets import Input, Static

from sapwood.app.connection import Connection
from sapwood.core.ids import AgentId
from sapwood.tui.key_order import LIST

_MAX_HITS = 200


class FindBar(Horizontal):
    """Searches the index of the log, which also covers folded rows and rows not yet read."""

    DEFAULT_CSS = """
    FindBar { display: none; height: 1; background: $panel; }
    FindBar Input { width: 1fr; height: 1; border: none; background: $panel; }
    FindBar Input:focus { border: none; }
    FindBar Static { width: auto; padding: 0 1; color: $faint; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,shift+enter", "step(-1)", "Previous", show=False, priority=True),
        Binding("down", "step(1)", "Next", show=False, priority=True),
        Binding("escape", "close", "Close", show=False, priority=True),
    ]

    class Found(Message):
        """A place with the searched words was found; the transcript should go there."""

        def __init__(self, version: int, words: str) -> None:
            super().__init__()
            self.version = version
            self.words = words

    class Closed(Message):
        """The find bar was closed."""

    def __init__(self, connection: Connection, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._connection = connection
        self._agent: AgentId | None = None
        self._hits: list[int] = []
        self._at = 0

    def compose(self) -> ComposeResult:
        """Yields the input field and the number of places."""
        yield Input(placeholder="Find in this conversation")
        yield Static("↑ previous · ↓ or enter next · esc closes", id="count")

    def open(self, agent: AgentId | None) -> None:
        """Shows the bar and focuses it."""
        self._agent = agent
        self.display = True
        self.query_one(Input).focus()

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        self._find(event.value)

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_step(1)

    @work(exclusive=True, group=LIST)
    async def _find(self, words: str) -> None:
        connection = self._connection
        hits = []
        if words.strip() and self._agent:
            hits = await connection.log.search(
                connection.space, words, agents=[self._agent], limit=_MAX_HITS
            )
        self._hits = sorted({hit.ref.version for hit in hits})
        self._at = len(self._hits) - 1
        self._show_place(words)

    def action_step(self, step: int) -> None:
        """Goes to the next or previous place; after the last comes the first."""
        if self._hits:
            self._at = (self._at + step) % len(self._hits)
            self._show_place(self.query_one(Input).value)

    def _show_place(self, words: str) -> None:
        count = self.query_one("#count", Static)
        if not self._hits:
            count.update("nothing found" if words.strip() else "")
            return
        count.update(f"{self._at + 1} of {len(self._hits)}")
        self.post_message(self.Found(self._hits[self._at], words.strip().strip('"')))

    def action_close(self) -> None:
        """Hides the bar and posts `Closed`."""
        self.display = False
        self.post_message(self.Closed())
