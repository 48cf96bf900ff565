"""The canvas of the transcript: draws the rows around one place, and moves that place.

Whatever moves the reader goes through `_act`, which tries, loads the text that was missing, and
tries again. So painting never waits, and a step of the reader is exactly as long as was asked.
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

from sapwood.core.errors import LogError
from sapwood.core.events import Recorded
from sapwood.core.ids import AgentId
from sapwood.core.timeline.layout import Page
from sapwood.core.timeline.rows import Fold, Row, RowKey, TimelineRow, is_landmark
from sapwood.core.timeline.timeline import Timeline
from sapwood.runtime.fresh import now
from sapwood.runtime.timeline_reader import EventCache, NotLoaded
from sapwood.tui.host import host
from sapwood.tui.transcript.lighting import lit, lit_words
from sapwood.tui.transcript.look import Look
from sapwood.tui.transcript.painter import Painter, Stream
from sapwood.tui.transcript.scrollbar import thumb
from sapwood.tui.transcript.viewport import Viewport

__all__ = ["BAR", "Canvas"]

_DRAWN = 512
"""Rows that are kept as they were drawn."""

_JOINED = 2048
BAR = 1
_MINUTE = 60_000_000


async def _nothing(agent: AgentId, first: int, last: int) -> list[Recorded]:
    return []


class Canvas(Widget, can_focus=True):
    """Rows of any number, drawn around the place where the reader is."""

    DEFAULT_CSS = "Canvas { height: 1fr; width: 1fr; }"
    ALLOW_SELECT = True

    class FollowChanged(Message):
        """The reader left the end, or came back to it."""

        def __init__(self, follows: bool) -> None:
            super().__init__()
            self.follows = follows

    def __init__(self, *, id: str | None = None, clock: Callable[[], int] = now) -> None:
        super().__init__(id=id)
        self.page = Page(Timeline())
        self._events = EventCache(_nothing)
        self._stream: Stream | None = None
        self._view = Viewport(lambda place: len(self.strips(place)))
        self._painter: Painter | None = None
        self._drawn: LRUCache[object, list[Strip]] = LRUCache(_DRAWN)
        self._joined: LRUCache[tuple[int, str], tuple[Strip, Strip]] = LRUCache(_JOINED)
        self._empty: Strip | None = None
        self._ground, self._behind = Style.null(), Color(0, 0, 0)
        self._filters: Sequence[LineFilter] = ()
        self._cursor: RowKey | None = None
        self._needle = ""
        self._followed = True
        self._waiting: Callable[[], None] | None = None
        self.clock = clock

    @property
    def view(self) -> Viewport:
        """Where the reader is."""
        return self._view

    @property
    def cursor(self) -> RowKey | None:
        """The block that keys act on."""
        return self._cursor

    # What is shown

    async def show(self, timeline: Timeline, events: EventCache) -> None:
        """Shows a conversation from its end."""
        self.page, self._events = Page(timeline), events
        self._stream = self._cursor = self._painter = None
        self._drawn.clear()
        self._view.follows = True
        await self.grow()

    async def complete(self, timeline: Timeline) -> None:
        """Shows the same conversation, known further back, at the same place."""
        seen = self._seen()
        opened, self.page = self.page.opened, Page(timeline)
        self.page.opened |= opened
        await self._act(lambda: self._keep(seen))

    async def grow(self) -> None:
        """Shows what the timeline has gained. What is being read does not move."""
        seen = self._seen()
        moved = self.page.update()
        await self._act((lambda: self._keep(seen)) if moved else self._view.settle)

    async def stream(self, piece: Stream | None) -> None:
        """Shows an answer on its way, or none."""
        if piece != self._stream:
            self._stream = piece
            await self._act(self._view.settle)

    def _seen(self) -> list[RowKey]:
        """The rows from the first on screen on."""
        top = self._view.top
        return [row.key for row in self.page.shown[top : top + 200]]

    def _keep(self, seen: list[RowKey]) -> None:
        """Back to the first of these rows that is still there."""
        if not self._view.follows and seen:
            places = {row.key: place for place, row in enumerate(self.page.shown)}
            first = next((key for key in seen if key in places), None)
            if first is not None:
                self._view.top = places[first]
                self._view.skip = self._view.skip if first == seen[0] else 0
        self._view.settle()

    # Drawing

    def _row(self, place: int) -> TimelineRow | Stream:
        if place < len(self.page.shown):
            return self.page.shown[place]
        assert self._stream is not None
        return self._stream

    def strips(self, place: int) -> list[Strip]:
        """The lines of a row, drawn or kept. Raises `NotLoaded`."""
        row = self._row(place)
        painter = self._painter or self._new_painter()
        dim = not isinstance(row, Stream) and self.page.is_dim(place)
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
        self._ground, self._behind = self.rich_style, self.background_colors[1]
        self._filters = host(self).get_line_filters()
        self._empty = None
        look = Look.of(host(self).theme_variables, dark=host(self).current_theme.dark)
        width = max(20, self.size.width - BAR)
        self._painter = Painter(host(self).console, look, width, self._events, self._finish)
        return self._painter

    def _finish(self, strip: Strip) -> Strip:
        """A line on its ground, and without colours where nobody wants any."""
        strip = strip.apply_style(self._ground)
        for each in self._filters:
            strip = strip.apply_filter(each, self._behind)
        return strip

    def render_lines(self, crop: Region) -> list[Strip]:
        """The lines on screen. They are final, so a frame is a matter of looking them up."""
        strips = self._screen()[crop.y : crop.bottom]
        if crop.height == 1:  # so it is asked what is under the mouse
            strips = [strip.apply_offsets(0, crop.y) for strip in strips]
        if crop.column_span == (0, self.size.width):
            return strips
        return [strip.crop(*crop.column_span) for strip in strips]

    def render_line(self, y: int) -> Strip:
        """One line."""
        return self._screen()[y]

    def _screen(self) -> list[Strip]:
        height, view = self.size.height, self._view
        try:
            places = view.lines()[:height] if view.size else []
            lines = [self.strips(place)[line] for place, line in places]
        except NotLoaded:  # it is being loaded; what is shown next is whole
            places, lines = [], []
        lines = self._lit(places, lines)
        lines += [self._blank()] * (height - len(lines))
        lit = thumb(view, places)
        return [self._beside_bar(line, lit, y) for y, line in enumerate(lines)]

    def _beside_bar(self, line: Strip, lit: range | None, y: int) -> Strip:
        """The line with its cell of the scrollbar. Kept, because what is kept is drawn once."""
        sign = "┃" if lit is not None and y in lit else " "
        kept = self._joined.get((id(line), sign))
        if kept is None or kept[0] is not line:
            faint = Style(color=host(self).theme_variables["faint"])
            cell = self._finish(Strip([Segment(sign, faint)], 1))
            kept = (line, Strip([*line, *cell], line.cell_length + 1))
            self._joined[id(line), sign] = kept
        return kept[1]

    def _blank(self) -> Strip:
        width = self.size.width - BAR
        if self._empty is None or self._empty.cell_length != width:
            self._empty = self._finish(Strip.blank(width))
        return self._empty

    def _lit(self, places: list[tuple[int, int]], lines: list[Strip]) -> list[Strip]:
        """The lines with the cursor, what is searched for, and what is selected."""
        if self._cursor is not None:
            accent = Style(color=host(self).theme_variables["accent"])
            bar = self._finish(Strip([Segment("▌", accent)], 1))
            lines = [
                Strip.join([bar, line.crop(1)]) if self._row(place).key == self._cursor else line
                for (place, _), line in zip(places, lines, strict=True)
            ]
        if self._needle:
            lines = [lit_words(line, self._needle, Style(reverse=True)) for line in lines]
        if (selection := self.text_selection) is not None:
            style = self.screen.get_component_rich_style("screen--selection")
            for y, line in enumerate(lines):
                if (span := selection.get_span(y)) is not None:
                    end = line.cell_length if span[1] < 0 else span[1]
                    lines[y] = lit(line, span[0], end, style)
        return lines

    def notify_style_update(self) -> None:
        """Another theme: nothing that was drawn holds any more."""
        super().notify_style_update()
        self._drawn.clear()
        self._joined.clear()
        self._painter = self._empty = None

    async def on_resize(self, event: events.Resize) -> None:
        self._painter = None
        act, self._waiting = self._waiting or self._view.settle, None
        await self._act(act)

    # Moving

    async def _act(self, act: Callable[[], None]) -> None:
        """Does something to the place, with whatever text that takes; not before it has a size."""
        if not self.size.width or not self.size.height:
            self._waiting = act
            return
        view = self._view
        view.size = self.size.height
        view.rows = len(self.page.shown) + (self._stream is not None)
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
        """Reads a text; false if the log cannot give it now."""
        try:
            await self._events.load(missing.agent, missing.version)
        except LogError as error:
            self.notify(str(error), severity="warning", markup=False)
            return False
        return True

    async def action_scroll(self, lines: int) -> None:
        """Moves by so many lines."""
        await self._act(lambda: self._view.scroll(lines))

    async def action_page(self, pages: int) -> None:
        """Moves by whole screens, but for two lines by which the eye finds its place."""
        await self.action_scroll(pages * max(1, self.size.height - 2))

    async def action_start(self) -> None:
        """To the first line."""
        await self._act(self._view.to_start)

    async def action_end(self) -> None:
        """To the end, which is followed from then on."""
        self._cursor = None
        await self._act(self._view.to_end)

    async def action_jump(self, step: int) -> None:
        """To the next divider, fold, summary or mark, upwards or downwards."""
        place = self.page.next(self._view.top, step, is_landmark)
        if place is not None:
            await self._act(lambda: self._view.place(place, 0))
        elif step > 0:
            await self.action_end()

    async def go_to(self, key: RowKey, *, at: int = 2) -> bool:
        """Brings a row into view with the cursor on it, out of its fold if it is in one."""
        place = self.page.find(key)
        if place is None:
            return False
        self._cursor = key
        await self._act(lambda: self._view.place(place, at))
        return True

    async def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        await self.action_scroll(-3)

    async def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        await self.action_scroll(3)

    async def on_mouse_move(self, event: events.MouseMove) -> None:
        if event.button == 1 and event.x >= self.size.width - BAR:
            await self._to_share(event.y / max(1, self.size.height - 1))

    async def _to_share(self, share: float) -> None:
        if share >= 1:
            await self.action_end()
        else:
            place = round(share * max(0, self._view.rows - 1))
            await self._act(lambda: self._view.place(place, 0))
