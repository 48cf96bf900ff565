"""The end of a conversation: what is finished is printed, what is under way stands here.

The last lines of an answer on its way, and calls whose results are not there yet.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import TypeVar

from msgspec import Struct
from textual import work
from textual.geometry import Size
from textual.strip import Strip
from textual.widget import Widget

from sapwood.core.ids import AgentId
from sapwood.core.timeline.layout import Page
from sapwood.core.timeline.row_labels import counted
from sapwood.core.timeline.rows import Row, RowKey
from sapwood.core.timeline.timeline import Timeline
from sapwood.runtime.fresh import now
from sapwood.runtime.timeline_reader import EventCache, NotLoaded
from sapwood.tui.host import host
from sapwood.tui.inline.pen import Pen
from sapwood.tui.inline.tape import Item, Rule, Tape, messages_in
from sapwood.tui.transcript.look import Look
from sapwood.tui.transcript.painter import Stream

__all__ = ["Tail", "Title"]

R = TypeVar("R")

_SHARE = 3
"""The part of the screen that an answer on its way takes at most."""

_BELOW = 8
"""Lines of a screen that an opening leaves to what stands around it."""


class Title(Struct, frozen=True):
    """What is printed above a conversation. `whole` says that all of it was read."""

    words: str
    agent: AgentId | None = None
    whole: bool = True


class Tail(Widget):
    """Paper without an end: whatever is written on it leaves at the top."""

    DEFAULT_CSS = "Tail { height: auto; }"

    def __init__(
        self, put: Callable[[Item, Sequence[Strip]], None], *, id: str | None = None
    ) -> None:
        super().__init__(id=id)
        self.title = Title("")
        self._put = put
        self._timeline = Timeline()
        self._tape = Tape(self._timeline)
        self._events: EventCache | None = None
        self._stream: Stream | None = None
        self._pen: Pen | None = None
        self._waiting: deque[Item] = deque()
        self._printing = asyncio.Lock()
        self._lines: list[Strip] = []

    # Paper

    async def show(self, timeline: Timeline, events: EventCache) -> None:
        """Prints the title and the last screenful."""
        self._timeline, self._tape = timeline, Tape(timeline)
        self._events, self._stream, self._pen = events, None, None
        everything = self._tape.opening()
        first = await self._first_on_screen(everything)
        self._waiting.append(Item(Rule(self.title.words, "heading")))
        if first or not self.title.whole:
            self._waiting.append(Item(Rule(_before(everything, first, self.title))))
        self._waiting += everything[first:]
        await self._settle()

    async def complete(self, timeline: Timeline) -> None:
        """Goes on with a timeline that is known further back."""
        self._timeline = timeline
        self._tape.complete(timeline)
        await self.grow()

    async def grow(self) -> None:
        """Prints what is finished."""
        self._waiting += self._tape.take()
        await self._settle()

    async def stream(self, piece: Stream | None) -> None:
        """Shows the last lines of an answer on its way."""
        if piece != self._stream:
            self._stream = piece
            await self._settle()

    async def go_to(self, key: RowKey) -> bool:
        """Prints one row again, under a line that says where it stands."""
        page = Page(self._timeline)
        place = page.find(key)
        if place is None:
            return False
        row = page.shown[place]
        where = f"#{row.version:,}" if isinstance(row, Row) else "found"
        self._waiting += [Item(Rule(where, "heading")), Item(row, page.is_dim(place))]
        await self._settle()
        return True

    # Printing

    @work(group="again")
    async def print_again(self, items: Sequence[Item]) -> None:
        """The terminal has another width: what it lost is printed first of all."""
        self._waiting.extendleft(reversed(items))
        await self._settle()

    async def last_answer(self) -> str:
        """The words of the newest answer."""
        answers = (row for row in reversed(self._timeline.rows) if row.kind == "reply")
        row = next(answers, None)
        return await self._loaded(lambda pen: pen.text_of(row)) if row else ""

    async def _settle(self) -> None:
        """Prints what waits, and draws what cannot be printed yet."""
        if self._events is None:  # nothing is shown yet
            return
        async with self._printing:
            while self._waiting:
                item = self._waiting[0]
                strips = await self._loaded(lambda pen, item=item: pen.item(item, now()))
                if self._waiting[0] is item:  # nothing was put before it meanwhile
                    self._waiting.popleft()
                    self._put(item, strips)
            lines = await self._loaded(self._drawn)
        changed = len(lines) != len(self._lines)
        self._lines = lines
        self.refresh(layout=changed)

    def _drawn(self, pen: Pen) -> list[Strip]:
        """The last lines of everything that is under way."""
        at = now()
        lines = [
            strip
            for row in self._tape.unfinished
            for strip in pen.item(Item(row), at, working=self._tape.is_open)
        ]
        if self._stream is not None:
            lines += pen.draw(self._stream, dim=False, opened=False, now=at, working=True)
        return lines[-max(3, host(self).size.height // _SHARE) :]

    async def _first_on_screen(self, items: Sequence[Item]) -> int:
        """From which item on there is about a screenful: a long one is not cut."""
        room = max(1, host(self).size.height - _BELOW)
        first, used = len(items), 0
        while first and used < room:
            item = items[first - 1]
            height = len(await self._loaded(lambda pen, item=item: pen.item(item, now())))
            if used + height > room and used > room // 2:
                break
            first, used = first - 1, used + height
        return first

    async def _loaded(self, draw: Callable[[Pen], R]) -> R:
        """Draws, with whatever text that takes."""
        while True:
            try:
                return draw(self._right_pen())
            except NotLoaded as missing:
                assert self._events is not None
                await self._events.load(missing.agent, missing.version)

    def _right_pen(self) -> Pen:
        """The one for the width of the terminal as it is now."""
        app, width = host(self), max(20, host(self).size.width)
        assert self._events is not None
        if self._pen is None or self._pen.width != width:
            look = Look.of(app.theme_variables, dark=app.current_theme.dark)
            self._pen = Pen(app.console, look, width, self._events)
        return self._pen

    # Drawing

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """As many lines as there are."""
        return len(self._lines)

    def render_line(self, y: int) -> Strip:
        """One of them; the last ones, as long as there is not yet room for all."""
        y += max(0, len(self._lines) - self.size.height)
        line = self._lines[y] if y < len(self._lines) else Strip.blank(self.size.width)
        return line.adjust_cell_length(self.size.width).apply_style(self.rich_style)

    def notify_style_update(self) -> None:
        """Another theme: what is drawn from here on has its colours."""
        super().notify_style_update()
        self._pen = None


def _before(items: Sequence[Item], first: int, title: Title) -> str:
    """How much lies before what is printed, and how to read it."""
    words = f"{counted(messages_in(items[:first]), 'message')} before"
    if not title.whole:  # nobody has counted them yet
        shown = next((each.what for each in items[first:] if isinstance(each.what, Row)), None)
        words = f"all before #{shown.version:,}" if shown else "all before"
    return f"{words}: sapwood show {title.agent}, or sapwood without --inline"
