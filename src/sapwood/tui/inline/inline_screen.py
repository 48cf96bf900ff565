"""The conversation screen below a prompt: live area, composer and status line."""

from collections.abc import Sequence
from typing import Protocol, cast

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.notifications import SeverityLevel
from textual.strip import Strip
from textual.widgets import Static

from sapwood.conversation.surroundings import Surroundings
from sapwood.conversation.timeline_reader import LONG_CONVERSATION
from sapwood.core.ids import AgentId
from sapwood.core.state import State
from sapwood.display.text import cut
from sapwood.tui.composer import CompletionPopup, Composer
from sapwood.tui.conversation_screen import ConversationScreen
from sapwood.tui.inline.live_area import LiveArea, Title
from sapwood.tui.inline.print_queue import PrintItem
from sapwood.tui.status_bars import StatusLine
from sapwood.tui.terminal import copy_text
from sapwood.tui.transcript.sink import TranscriptSink

_NAME = 40
_HINT = "/ commands · f1 keys"
_CHOICES = 8
_AROUND = 3
"""Lines of the terminal that composer and completions leave free."""

_SCROLLING = ("page", "scroll", "start", "end")
"""Transcript actions that the terminal offers for its scrollback."""


class Printer(Protocol):
    """An application that prints above the live area."""

    def print_above(self, item: PrintItem, strips: Sequence[Strip]) -> None:
        """Prints an item with the next frame."""
        ...


class InlineScreen(ConversationScreen):
    """A conversation that is printed into the scrollback of the terminal."""

    CSS_PATH = ["../conversation_view.tcss", "inline_screen.tcss"]  # noqa: RUF012 (as Textual types it)

    def compose(self) -> ComposeResult:
        """Yields the widgets, from top to bottom."""
        yield LiveArea(self._print, id="live-area")
        yield Static(id="notice", markup=False)
        yield Static(id="queue", markup=False)
        yield Composer(id="composer")
        yield CompletionPopup(id="popup")
        with Horizontal(id="foot"):
            yield StatusLine(id="status")
            yield Static(_HINT, id="hint")

    @property
    def live_area(self) -> LiveArea:
        """The widget that prints finished rows and shows unfinished ones."""
        return self.query_one(LiveArea)

    @property
    def sink(self) -> TranscriptSink:
        """The live area, which prints into the scrollback."""
        return self.live_area

    def _print(self, item: PrintItem, strips: Sequence[Strip]) -> None:
        cast("Printer", self.application).print_above(item, strips)

    async def open(self, agent: AgentId | None) -> None:
        """Prints a title and the last screen of a conversation, and follows it."""
        self.controller.agent = agent
        self.live_area.title = _title(await self.controller.state())
        await super().open(agent)

    def _show_panels(self, found: Surroundings) -> None:
        """Shows the hint while no turn runs; there is no header and no sidebar."""
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
        """Shows a notification as a message: there is no room for toasts."""
        self.show_message(message)

    def _place_popup(self, popup: CompletionPopup) -> None:
        """Limits the list to the free lines below the composer."""
        room = self.application.size.height - self.composer.outer_size.height - _AROUND
        popup.styles.max_height = max(2, min(_CHOICES, room))

    def on_resize(self, event: events.Resize) -> None:
        """Limits the composer to half of the terminal."""
        self.composer.styles.max_height = max(3, min(12, self.application.size.height // 2))

    # Keys

    async def action_transcript(self, action: str, *args: int) -> None:
        """Copies the last reply; for other actions, refers to the full screen."""
        if action == "copy":
            if words := await self.live_area.last_answer():
                self.show_message(copy_text(self.application, words))
        elif action not in _SCROLLING:
            self._refuse_key("opens and selects blocks")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Turns off the keys that scroll; the terminal scrolls."""
        if action == "transcript" and parameters[0] in _SCROLLING:
            return False
        return super().check_action(action, parameters)

    def action_find(self) -> None:
        """Refers to the full screen; the terminal searches here."""
        self._refuse_key("finds words")

    def action_sidebar(self) -> None:
        """Refers to `/agents`; there is no sidebar here."""
        self.show_message(
            "Type /agents to list the agents. For a sidebar, use the full screen: sapwood"
        )

    def action_read(self) -> None:
        """Does nothing: there is no transcript to focus."""

    def _refuse_key(self, does: str) -> None:
        self.show_message(
            f"Use the terminal to scroll and search here. The full screen {does}: sapwood"
        )


def _title(state: State | None) -> Title:
    if state is None:
        return Title("Sapwood · everything is kept; you decide what the model sees")
    source = f" · from {state.origin.source}: /fork to continue" if state.origin else ""
    model = state.settings.model or "no model"
    name = cut(state.name, _NAME) or "a conversation"
    words = f"{name} · {state.agent} · {model}{source}"
    return Title(words, state.agent, state.version <= LONG_CONVERSATION)
