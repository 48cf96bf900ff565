"""The drawing part of the transcript widget: draws the rows on screen, and scrolls.

Every scroll goes through `_move`. It tries to draw the new place; if a text is missing, it loads
that text and tries again. Drawing therefore never waits, and each scroll has its full length.

The scroll position: the first row on screen, and how many of its lines are above the screen.

The position has no coordinates, only a row and a line in it. Changes above the screen therefore do
not move the text, and only the heights of the rows on screen have to be known.
"""

from collections.abc import Callable, Sequence

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.cache import LRUCache
from textual.color import Color
from textual.filter import LineFilter
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from sapwood.conversation.timeline_reader import EventCache, NotLoaded
from sapwood.core.errors import LogError
from sapwood.core.events import Recorded
from sapwood.core.ids import AgentId
from sapwood.core.timeline.layout import Page
from sapwood.core.timeline.rows import Fold, Row, RowKey, TimelineRow, is_landmark
from sapwood.core.timeline.timeline import Timeline
from sapwood.display.quantities import now
from sapwood.tui.terminal import app_of
from sapwood.tui.transcript.painter import Painter
from sapwood.tui.transcript.row_renderer import TranscriptColours, highlighted, highlighted_words
from sapwood.tui.transcript.sink import PartialReply


class Viewport:
    """A screen of `size` lines over `rows` rows; `height` returns the lines of a row.

    >>> view = Viewport(lambda row: 3)
    >>> view.rows, view.size = 4, 5
    >>> view.to_end()
    >>> view.lines()
    [(2, 1), (2, 2), (3, 0), (3, 1), (3, 2)]
    >>> view.scroll(-2)
    >>> view.lines()[0], view.follows
    ((1, 2), False)
    """

    def __init__(self, height: Callable[[int], int]) -> None:
        self._height = height
        self.rows = 0
        self.size = 0
        self.top = 0
        self.skip = 0
        self.follows = True

    def scroll(self, lines: int) -> None:
        """Moves down by a number of lines, or up if it is negative. Stops at both ends."""
        if lines < 0:
            top, skip = self._up(self.top, self.skip + lines)
            self.follows = self.follows and (top, skip) == (self.top, self.skip)
            self.top, self.skip = top, skip
        elif lines > 0:
            self._set(*self._down(self.top, self.skip + lines))

    def to_end(self) -> None:
        """Shows the last line at the bottom, and follows the end as rows are added."""
        self.follows = True
        if self.rows:
            last = self.rows - 1
            self.top, self.skip = self._up(last, self._height(last) - self.size)
        else:
            self.top = self.skip = 0

    def to_start(self) -> None:
        """Shows the first line at the top."""
        self.follows = False
        self._set(0, 0)

    def place(self, row: int, at: int) -> None:
        """Puts the first line of a row on the line `at` of the screen, as far as the ends allow."""
        self.follows = False
        self._set(*self._up(row, -at))

    def settle(self) -> None:
        """Corrects the position after rows were added, removed or changed their height."""
        if self.follows or not self.rows:
            self.to_end()
            return
        top = min(self.top, self.rows - 1)
        self.top, self.skip = top, max(0, min(self.skip, self._height(top) - 1))

    def lines(self) -> list[tuple[int, int]]:
        """Row and line number of each line on screen, from top to bottom."""
        found: list[tuple[int, int]] = []
        row, line = self.top, self.skip
        while row < self.rows and len(found) < self.size:
            last = min(self._height(row), line + self.size - len(found))
            found += [(row, each) for each in range(line, last)]
            row, line = row + 1, 0
        return found

    def _set(self, top: int, skip: int) -> None:
        """Sets the position, or the last one that fills the screen."""
        before = self.follows
        self.top, self.skip = top, skip
        if len(self.lines()) < self.size:
            self.to_end()
            self.follows = before or self.follows
        elif self._is_end():
            self.follows = True

    def _is_end(self) -> bool:
        last = self.lines()[-1]
        return last == (self.rows - 1, self._height(self.rows - 1) - 1)

    def _up(self, top: int, skip: int) -> tuple[int, int]:
        while skip < 0 and top > 0:
            top -= 1
            skip += self._height(top)
        return top, max(0, skip)

    def _down(self, top: int, skip: int) -> tuple[int, int]:
        while top < self.rows and skip >= (height := self._height(top)):
            skip -= height
            top += 1
        return top, skip


def scrollbar_thumb(view: Viewport, lines: Sequence[tuple[int, int]]) -> range | None:
    """The lines of the scrollbar that its thumb covers; None if every row is on screen."""
    seen = max(1, lines[-1][0] - lines[0][0] + 1) if lines else view.rows
    if seen >= view.rows:
        return None
    length = max(1, round(view.size * seen / view.rows))
    free = view.size - length
    at = free if view.follows else min(free, round(free * view.top / (view.rows - seen)))
    return range(at, at + length)


_DRAWN = 512
"""How many drawn rows are cached."""

_JOINED = 2048
BAR = 1
_MINUTE = 60_000_000


async def _nothing(agent: AgentId, first: int, last: int) -> list[Recorded]:
    return []


class Canvas(Widget, can_focus=True):
    """Draws the rows of a conversation around the scroll position."""

    DEFAULT_CSS = "Canvas { height: 1fr; width: 1fr; }"
    ALLOW_SELECT = True

    class FollowChanged(Message):
        """The view left the end of the conversation, or came back to it."""

        def __init__(self, follows: bool) -> None:
            super().__init__()
            self.follows = follows

    def __init__(self, *, id: str | None = None, clock: Callable[[], int] = now) -> None:
        super().__init__(id=id)
        self.page = Page(Timeline())
        self._events = EventCache(_nothing)
        self._stream: PartialReply | None = None
        self._view = Viewport(lambda place: len(self.strips(place)))
        self._painter: Painter | None = None
        self._drawn: LRUCache[object, list[Strip]] = LRUCache(_DRAWN)
        self._joined: LRUCache[tuple[int, str], tuple[Strip, Strip]] = LRUCache(_JOINED)
        self._empty: Strip | None = None
        self._background, self._background_colour = Style.null(), Color(0, 0, 0)
        self._filters: Sequence[LineFilter] = ()
        self._cursor: RowKey | None = None
        self._searched = ""
        self._followed = True
        self._waiting: Callable[[], None] | None = None
        self.clock = clock

    @property
    def view(self) -> Viewport:
        """The scroll position."""
        return self._view

    @property
    def cursor(self) -> RowKey | None:
        """The block under the cursor."""
        return self._cursor

    # The conversation

    async def show(self, timeline: Timeline, events: EventCache) -> None:
        self.page, self._events = Page(timeline), events
        self._stream = self._cursor = self._painter = None
        self._drawn.clear()
        self._view.follows = True
        await self.grow()

    async def complete(self, timeline: Timeline) -> None:
        """Replaces the timeline by one that begins earlier; the text on screen does not move."""
        seen = self._seen()
        opened, self.page = self.page.opened, Page(timeline)
        self.page.opened |= opened
        await self._move(lambda: self._keep(seen))

    async def grow(self) -> None:
        """Draws new rows. Unless the view follows the end, the text on screen does not move."""
        seen = self._seen()
        moved = self.page.update()
        await self._move((lambda: self._keep(seen)) if moved else self._view.settle)

    async def stream(self, piece: PartialReply | None) -> None:
        if piece != self._stream:
            self._stream = piece
            await self._move(self._view.settle)

    def _seen(self) -> list[RowKey]:
        """The keys of the first row on screen and of those after it."""
        top = self._view.top
        return [row.key for row in self.page.shown[top : top + 200]]

    def _keep(self, seen: list[RowKey]) -> None:
        """Scrolls to the first of these rows that still exists."""
        if not self._view.follows and seen:
            places = {row.key: place for place, row in enumerate(self.page.shown)}
            first = next((key for key in seen if key in places), None)
            if first is not None:
                self._view.top = places[first]
                self._view.skip = self._view.skip if first == seen[0] else 0
        self._view.settle()

    # Drawing

    def _row(self, place: int) -> TimelineRow | PartialReply:
        if place < len(self.page.shown):
            return self.page.shown[place]
        assert self._stream is not None
        return self._stream

    def strips(self, place: int) -> list[Strip]:
        """The lines of a row, from the cache if they are there. Raises `NotLoaded`."""
        row = self._row(place)
        painter = self._painter or self._new_painter()
        dim = not isinstance(row, PartialReply) and self.page.is_dim(place)
        opened = row.key in self.page.opened
        unfinished = isinstance(row, Row) and row.kind == "tool" and not row.result
        working = unfinished and self.page.timeline.is_open
        at = self.clock()
        minute = at // _MINUTE if isinstance(row, Fold) else 0
        key = (row, painter.width, dim, opened, working, minute)
        drawn = self._drawn.get(key)
        if drawn is None:
            drawn = painter.draw(row, dim=dim, opened=opened, now=at, working=working)
            self._drawn[key] = drawn
        return drawn[:-1] if self.page.is_close(place) else drawn

    def _new_painter(self) -> Painter:
        self._background, self._background_colour = self.rich_style, self.background_colors[1]
        self._filters = app_of(self).get_line_filters()
        self._empty = None
        colours = TranscriptColours.of(
            app_of(self).theme_variables, dark=app_of(self).current_theme.dark
        )
        width = max(20, self.size.width - BAR)
        self._painter = Painter(app_of(self).console, colours, width, self._events, self._finish)
        return self._painter

    def _finish(self, strip: Strip) -> Strip:
        """Gives a line its background, and applies filters such as `NO_COLOR`."""
        strip = strip.apply_style(self._background)
        for each in self._filters:
            strip = strip.apply_filter(each, self._background_colour)
        return strip

    def render_lines(self, crop: Region) -> list[Strip]:
        """The lines on screen, from the cache."""
        strips = self._screen()[crop.y : crop.bottom]
        if crop.height == 1:  # Textual asks for one line to find what is under the mouse
            strips = [strip.apply_offsets(0, crop.y) for strip in strips]
        if crop.column_span == (0, self.size.width):
            return strips
        return [strip.crop(*crop.column_span) for strip in strips]

    def render_line(self, y: int) -> Strip:
        """One line of the screen."""
        return self._screen()[y]

    def _screen(self) -> list[Strip]:
        height, view = self.size.height, self._view
        try:
            places = view.lines()[:height] if view.size else []
            lines = [self.strips(place)[line] for place, line in places]
        except NotLoaded:  # `_move` is loading the text and then draws again
            places, lines = [], []
        lines = self._with_highlights(places, lines)
        lines += [self._blank()] * (height - len(lines))
        thumb = scrollbar_thumb(view, places)
        return [self._beside_bar(line, thumb, y) for y, line in enumerate(lines)]

    def _beside_bar(self, line: Strip, thumb: range | None, y: int) -> Strip:
        """The line with its cell of the scrollbar, from the cache."""
        sign = "┃" if thumb is not None and y in thumb else " "
        kept = self._joined.get((id(line), sign))
        if kept is None or kept[0] is not line:
            faint = Style(color=app_of(self).theme_variables["faint"])
            cell = self._finish(Strip([Segment(sign, faint)], 1))
            kept = (line, Strip([*line, *cell], line.cell_length + 1))
            self._joined[id(line), sign] = kept
        return kept[1]

    def _blank(self) -> Strip:
        width = self.size.width - BAR
        if self._empty is None or self._empty.cell_length != width:
            self._empty = self._finish(Strip.blank(width))
        return self._empty

    def _with_highlights(self, places: list[tuple[int, int]], lines: list[Strip]) -> list[Strip]:
        """The lines with the cursor, the searched words and the selection."""
        if self._cursor is not None:
            accent = Style(color=app_of(self).theme_variables["accent"])
            bar = self._finish(Strip([Segment("▌", accent)], 1))
            lines = [
                Strip.join([bar, line.crop(1)]) if self._row(place).key == self._cursor else line
                for (place, _), line in zip(places, lines, strict=True)
            ]
        if self._searched:
            lines = [highlighted_words(line, self._searched, Style(reverse=True)) for line in lines]
        if (selection := self.text_selection) is not None:
            style = self.screen.get_component_rich_style("screen--selection")
            for y, line in enumerate(lines):
                if (span := selection.get_span(y)) is not None:
                    end = line.cell_length if span[1] < 0 else span[1]
                    lines[y] = highlighted(line, span[0], end, style)
        return lines

    def notify_style_update(self) -> None:
        """Clears the caches after a change of the theme."""
        super().notify_style_update()
        self._drawn.clear()
        self._joined.clear()
        self._painter = self._empty = None

    async def on_resize(self, event: events.Resize) -> None:
        self._painter = None
        act, self._waiting = self._waiting or self._view.settle, None
        await self._move(act)

    # Moving

    async def _move(self, act: Callable[[], None]) -> None:
        """Changes the scroll position, and loads the texts this needs.

        Before the widget has a size, the change waits for `on_resize`.
        """
        view = self._view
        view.rows = len(self.page.shown) + (self._stream is not None)
        if not self.size.width or not self.size.height:
            self._waiting = act
            return
        view.size = self.size.height
        while True:
            before = (view.top, view.skip, view.follows)
            try:
                act()
                view.lines()
                break
            except NotLoaded as missing:
                view.top, view.skip, view.follows = before
                if not await self._load(missing):
                    return
        if self._followed != view.follows:
            self._followed = view.follows
            self.post_message(self.FollowChanged(view.follows))
        self.refresh()

    async def _load(self, missing: NotLoaded) -> bool:
        """Loads a text; returns false and shows a warning if the log cannot be read."""
        try:
            await self._events.load(missing.agent, missing.version)
        except LogError as error:
            self.notify(str(error), severity="warning", markup=False)
            return False
        return True

    async def action_scroll(self, lines: int) -> None:
        """Scrolls by a number of lines."""
        await self._move(lambda: self._view.scroll(lines))

    async def action_page(self, pages: int) -> None:
        """Scrolls by whole screens, less two lines of overlap."""
        await self.action_scroll(pages * max(1, self.size.height - 2))

    async def action_start(self) -> None:
        """Scrolls to the first line."""
        await self._move(self._view.to_start)

    async def action_end(self) -> None:
        """Scrolls to the end and follows it."""
        self._cursor = None
        await self._move(self._view.to_end)

    async def action_jump(self, step: int) -> None:
        """Scrolls to the next divider, fold, summary or mark, up or down."""
        place = self.page.next(self._view.top, step, is_landmark)
        if place is not None:
            await self._move(lambda: self._view.place(place, 0))
        elif step > 0:
            await self.action_end()

    async def go_to(self, key: RowKey) -> bool:
        """Scrolls to a row, opens its fold and puts the cursor on it; false if it is unknown."""
        place = self.page.find(key)
        if place is None:
            return False
        self._cursor = key
        await self._move(lambda: self._view.place(place, 2))
        return True

    async def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        await self.action_scroll(-3)

    async def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        await self.action_scroll(3)

    async def on_mouse_move(self, event: events.MouseMove) -> None:
        if event.button == 1 and event.x >= self.size.width - BAR:
            await self._go_to_share(event.y / max(1, self.size.height - 1))

    async def _go_to_share(self, share: float) -> None:
        if share >= 1:
            await self.action_end()
        else:
            place = round(share * max(0, self._view.rows - 1))
            await self._move(lambda: self._view.place(place, 0))
