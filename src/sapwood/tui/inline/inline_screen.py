"""The conversation screen below a prompt: live area, composer and status line.

The live area below the scrollback: prints finished rows, and draws unfinished ones.

Unfinished are a reply that is streaming, and tool calls without a result.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar, cast

from msgspec import Struct, structs
from rich.console import Console
from rich.text import Text as Words
from textual import events, work
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.geometry import Size
from textual.notifications import SeverityLevel
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Static

from sapwood.conversation.surroundings import Surroundings
from sapwood.conversation.timeline_reader import LONG_CONVERSATION, EventCache, NotLoaded
from sapwood.core.ids import AgentId
from sapwood.core.plural import counted
from sapwood.core.state import State
from sapwood.core.timeline.layout import Page
from sapwood.core.timeline.rows import Fold, Row, RowKey, fold_label
from sapwood.core.timeline.timeline import Timeline
from sapwood.display.quantities import now
from sapwood.display.text import cut
from sapwood.tui.composer import CompletionPopup, Composer
from sapwood.tui.conversation_screen import ConversationScreen
from sapwood.tui.inline.print_queue import PrintItem, PrintQueue, Rule, messages_in
from sapwood.tui.status_bars import StatusLine
from sapwood.tui.terminal import app_of, copy_text
from sapwood.tui.transcript.painter import Painter
from sapwood.tui.transcript.row_renderer import Lines, TranscriptColours
from sapwood.tui.transcript.sink import PartialReply, TranscriptSink


class InlinePainter(Painter):
    """Draws printed rows for one width: on the background of the terminal, and never folded."""

    def __init__(
        self, console: Console, colours: TranscriptColours, width: int, events: EventCache
    ) -> None:
        plain = structs.replace(colours, code_background=colours.background)
        super().__init__(console, plain, width, events, lambda strip: strip)

    def item(self, item: PrintItem, now: int, *, working: bool = False) -> list[Strip]:
        """The lines of an item. Raises `NotLoaded` if its text is not loaded."""
        if isinstance(item.what, Rule):
            return self.finished(self._rule(item.what))
        return self.draw(item.what, dim=item.dim, opened=False, now=now, working=working)

    def _rule(self, rule: Rule) -> Lines:
        colours = self.colours
        match rule.kind:
            case "heading":
                return self._line("── ", rule.words, "─", colours.faint, f"bold {colours.model}")
            case "window":
                return self._line(
                    "━━ ", rule.words, "━", colours.warning, f"bold {colours.warning}"
                )
            case "note":
                return self._line("╌╌╌ ", rule.words, "╌", colours.faint, colours.accent)

    def _fold(self, row: Fold, now: int) -> Lines:
        return self._rule(Rule(f"{fold_label(row)} · {row.cause}"))

    def _line(self, before: str, words: str, fill: str, faint: str, style: str) -> Lines:
        room = self.width - 4
        text = Words.assemble((before, faint), (f"{cut(words, room - len(before) - 1)} ", style))
        return self.across(text.append(fill * max(0, room - text.cell_len), faint))


R = TypeVar("R")

_PARTS = 3
"""The live area takes at most one part in so many of the terminal's height."""

_FREE_LINES = 8
"""Lines that the first screen of a conversation leaves free for prompt and composer."""


class Title(Struct, frozen=True):
    """The line above a printed conversation. `whole` says that all of the log was read."""

    words: str
    agent: AgentId | None = None
    whole: bool = True


class LiveArea(Widget):
    """Prints the finished rows of a conversation and shows the unfinished ones."""

    DEFAULT_CSS = "LiveArea { height: auto; }"

    def __init__(
        self, print_item: Callable[[PrintItem, Sequence[Strip]], None], *, id: str | None = None
    ) -> None:
        super().__init__(id=id)
        self.title = Title("")
        self._print = print_item
        self._timeline = Timeline()
        self._queue = PrintQueue(self._timeline)
        self._events: EventCache | None = None
        self._stream: PartialReply | None = None
        self._painter: InlinePainter | None = None
        self._waiting: deque[PrintItem] = deque()
        self._printing = asyncio.Lock()
        self._lines: list[Strip] = []

    # The conversation

    async def show(self, timeline: Timeline, events: EventCache) -> None:
        """Prints the title and the last screen of a conversation."""
        self._timeline, self._queue = timeline, PrintQueue(timeline)
        self._events, self._stream, self._painter = events, None, None
        everything = self._queue.finished_rows()
        first = await self._first_on_screen(everything)
        self._waiting.append(PrintItem(Rule(self.title.words, "heading")))
        if first or not self.title.whole:
            self._waiting.append(PrintItem(Rule(_before(everything, first, self.title))))
        self._waiting += everything[first:]
        await self._settle()

    async def complete(self, timeline: Timeline) -> None:
        """Replaces the timeline by one that begins earlier; nothing is printed again."""
        self._timeline = timeline
        self._queue.complete(timeline)
        await self.grow()

    async def grow(self) -> None:
        """Prints the rows that are finished now."""
        self._waiting += self._queue.take()
        await self._settle()

    async def stream(self, piece: PartialReply | None) -> None:
        """Shows the last lines of a partial reply, or removes it."""
        if piece != self._stream:
            self._stream = piece
            await self._settle()

    async def go_to(self, key: RowKey) -> bool:
        """Prints one row again, under a line with its place; returns false if it is unknown."""
        page = Page(self._timeline)
        place = page.find(key)
        if place is None:
            return False
        row = page.shown[place]
        where = f"#{row.place}" if isinstance(row, Row) and row.place else "found"
        self._waiting += [PrintItem(Rule(where, "heading")), PrintItem(row, page.is_dim(place))]
        await self._settle()
        return True

    # Printing

    @work(group="again")
    async def print_again(self, items: Sequence[PrintItem]) -> None:
        """Prints items for a new width of the terminal, before everything that waits."""
        self._waiting.extendleft(reversed(items))
        await self._settle()

    async def last_answer(self) -> str:
        """The text of the newest reply, or an empty text."""
        answers = (row for row in reversed(self._timeline.rows) if row.kind == "reply")
        row = next(answers, None)
        return await self._loaded(lambda painter: painter.text_of(row)) if row else ""

    async def _settle(self) -> None:
        """Prints the waiting items, and draws the unfinished rows."""
        if self._events is None:  # no conversation is shown yet
            return
        async with self._printing:
            while self._waiting:
                item = self._waiting[0]
                strips = await self._loaded(lambda painter, item=item: painter.item(item, now()))
                if self._waiting[0] is item:  # no item was put before it in the meantime
                    self._waiting.popleft()
                    self._print(item, strips)
            lines = await self._loaded(self._drawn)
        changed = len(lines) != len(self._lines)
        self._lines = lines
        self.refresh(layout=changed)

    def _drawn(self, painter: InlinePainter) -> list[Strip]:
        """The last lines of the unfinished rows."""
        at = now()
        lines = [
            strip
            for row in self._queue.unfinished
            for strip in painter.item(PrintItem(row), at, working=self._queue.is_open)
        ]
        if self._stream is not None:
            lines += painter.draw(self._stream, dim=False, opened=False, now=at, working=True)
        return lines[-max(3, app_of(self).size.height // _PARTS) :]

    async def _first_on_screen(self, items: Sequence[PrintItem]) -> int:
        """The index of the first item of the last screen. An item is never cut."""
        room = max(1, app_of(self).size.height - _FREE_LINES)
        first, used = len(items), 0
        while first and used < room:
            item = items[first - 1]
            height = len(await self._loaded(lambda painter, item=item: painter.item(item, now())))
            if used + height > room and used > room // 2:
                break
            first, used = first - 1, used + height
        return first

    async def _loaded(self, draw: Callable[[InlinePainter], R]) -> R:
        """Draws, and loads the texts that this needs."""
        while True:
            try:
                return draw(self._painter_for_width())
            except NotLoaded as missing:
                assert self._events is not None
                await self._events.load(missing.agent, missing.version)

    def _painter_for_width(self) -> InlinePainter:
        """The painter for the present width of the terminal."""
        app, width = app_of(self), max(20, app_of(self).size.width)
        assert self._events is not None
        if self._painter is None or self._painter.width != width:
            colours = TranscriptColours.of(app.theme_variables, dark=app.current_theme.dark)
            self._painter = InlinePainter(app.console, colours, width, self._events)
        return self._painter

    # Drawing

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """The number of lines."""
        return len(self._lines)

    def render_line(self, y: int) -> Strip:
        """One line; if there is no room for all, the last lines are shown."""
        y += max(0, len(self._lines) - self.size.height)
        line = self._lines[y] if y < len(self._lines) else Strip.blank(self.size.width)
        return line.adjust_cell_length(self.size.width).apply_style(self.rich_style)

    def notify_style_update(self) -> None:
        """Draws with the colours of a new theme from now on."""
        super().notify_style_update()
        self._painter = None


def _before(items: Sequence[PrintItem], first: int, title: Title) -> str:
    """How many messages come before the printed ones, and how to read them."""
    words = f"{counted(messages_in(items[:first]), 'message')} before"
    if not title.whole:  # the number of earlier messages is not known yet
        rows = (each.what for each in items[first:] if isinstance(each.what, Row))
        shown = next((row.place for row in rows if row.place), "")
        words = f"all before #{shown}" if shown else "all before"
    return f"{words}: sapwood show {title.agent}, or sapwood without --inline"


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
        yield Static(id="todo", markup=False)
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
