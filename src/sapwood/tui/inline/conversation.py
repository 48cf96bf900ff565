"""The conversation below a prompt: a composer and little else, under the terminal's scrollback."""

from collections.abc import Sequence
from typing import Protocol, cast

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.notifications import SeverityLevel
from textual.strip import Strip
from textual.widgets import Static

from sapwood.core.ids import AgentId
from sapwood.core.state import State
from sapwood.display.text import cut
from sapwood.runtime.timeline_reader import LONG_CONVERSATION
from sapwood.tui.around import Around
from sapwood.tui.clipboard import copy
from sapwood.tui.composer.popup import Popup
from sapwood.tui.composer.widget import Composer
from sapwood.tui.conversation import Conversation
from sapwood.tui.host import host
from sapwood.tui.inline.tail import Tail, Title
from sapwood.tui.inline.tape import Item
from sapwood.tui.paper import Paper
from sapwood.tui.side.status import StatusLine

__all__ = ["InlineConversation"]

_NAME = 40
_HINT = "/ commands · f1 keys"
_CHOICES = 8
_AROUND = 3
"""Lines of a screen beside composer and completions."""

_SCROLLING = ("page", "scroll", "start", "end")
"""What a terminal does with its own scrollback."""


class Printer(Protocol):
    """Whoever can print above the live area."""

    def print_above(self, item: Item, strips: Sequence[Strip]) -> None:
        """Has a thing printed with the next frame."""
        ...


class InlineConversation(Conversation):
    """The same conversation, read in the scrollback."""

    CSS_PATH = ["../conversation.tcss", "inline.tcss"]  # noqa: RUF012 (as Textual types it)

    def compose(self) -> ComposeResult:
        """What is not finished yet, then what is written next."""
        yield Tail(self._print, id="tail")
        yield Static(id="notice", markup=False)
        yield Static(id="queue", markup=False)
        yield Composer(id="composer")
        yield Popup(id="popup")
        with Horizontal(id="foot"):
            yield StatusLine(id="status")
            yield Static(_HINT, id="hint")

    @property
    def tail(self) -> Tail:
        """Where what is finished is printed from."""
        return self.query_one(Tail)

    @property
    def paper(self) -> Paper:
        """The scrollback."""
        return self.tail

    def _print(self, item: Item, strips: Sequence[Strip]) -> None:
        cast("Printer", host(self)).print_above(item, strips)

    async def open(self, agent: AgentId | None) -> None:
        """Prints a title and the last screenful, and follows from there."""
        self.desk.agent = agent
        self.tail.title = _title(await self.desk.state())
        await super().open(agent)

    def _show_beside(self, around: Around) -> None:
        """Nothing but a hint, while there is room for one."""
        self.query_one("#hint").display = self._since is None

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: SeverityLevel = "information",
        timeout: float | None = None,
        markup: bool = True,
    ) -> None:
        """There is one place for what is told."""
        self.said(message)

    def _seat(self, popup: Popup) -> None:
        """The list stands below the composer, which then need not move, where there is room."""
        room = host(self).size.height - self.composer.outer_size.height - _AROUND
        popup.styles.max_height = max(2, min(_CHOICES, room))

    def on_resize(self, event: events.Resize) -> None:
        """The composer never grows over more than half of a terminal."""
        self.composer.styles.max_height = max(3, min(12, host(self).size.height // 2))

    # Keys

    async def action_transcript(self, action: str, *args: int) -> None:
        """The terminal scrolls and searches; the last answer can still be copied."""
        if action == "copy":
            if words := await self.tail.last_answer():
                self.said(copy(host(self), words))
        elif action not in _SCROLLING:
            self._say_where("opens, jumps and picks blocks")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Keys that scroll are left alone."""
        if action == "transcript" and parameters[0] in _SCROLLING:
            return False
        return super().check_action(action, parameters)

    def action_find(self) -> None:
        """Searching is the terminal's, too."""
        self._say_where("finds")

    def action_sidebar(self) -> None:
        """There is no room for one."""
        self.said("/agents lists them here. The sidebar is on the full screen: sapwood.")

    def action_read(self) -> None:
        """There is nothing to go to."""

    def _say_where(self, does: str) -> None:
        self.said(f"Your terminal scrolls and searches here; the full screen {does}: sapwood.")


def _title(state: State | None) -> Title:
    if state is None:
        return Title("Sapwood · everything is kept; you decide what the model sees")
    source = f" · from {state.origin.source}: to read and fork" if state.origin else ""
    model = state.settings.model or "no model"
    name = cut(state.name, _NAME) or "a conversation"
    words = f"{name} · {state.agent} · {model}{source}"
    return Title(words, state.agent, state.version <= LONG_CONVERSATION)
