"""The transcript widget: a canvas with a cursor. The block under the cursor opens and copies."""

from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.selection import Selection

from sapwood.conversation.timeline_reader import NotLoaded
from sapwood.core.timeline.rows import Fold, Row, TimelineRow, can_open
from sapwood.tui.transcript.canvas import BAR, Canvas


class Transcript(Canvas):
    """Shows a conversation of any length."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "scroll(-1)", "Line up", show=False),
        Binding("down,j", "scroll(1)", "Line down", show=False),
        Binding("home,g", "start", "First line", show=False),
        Binding("enter,space", "open", "Open or close the block", show=False),
        Binding("y", "copy", "Copy the block", show=False),
    ]

    class Copied(Message):
        """The person asked to copy this text."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    async def on_click(self, event: events.Click) -> None:
        places = self._view.lines()
        if event.x >= self.size.width - BAR:
            await self._go_to_share(event.y / max(1, self.size.height - 1))
        elif event.y < len(places) and not self.text_selection:
            self._cursor = self._row(places[event.y][0]).key
            await self.action_open()
            self.refresh()

    async def action_leave(self) -> None:
        """Removes the cursor: no block is selected."""
        self._cursor = None
        self.refresh()

    async def action_cursor(self, step: int) -> None:
        """Moves the cursor to the next block, and scrolls if it is not on screen."""
        places = [place for place, _ in self._view.lines()]
        if not places:
            return
        at = next((each for each in places if self._row(each).key == self._cursor), None)
        if at is None:
            place = places[-1] if step < 0 else places[0]
        else:
            place = max(0, min(self._view.rows - 1, at + step))
        self._cursor = self._row(place).key
        await self._move(lambda: self._reveal(place))

    def _reveal(self, place: int) -> None:
        """Scrolls until all of a row is on screen, or at least its first lines."""
        view = self._view
        seen = [line for each, line in view.lines() if each == place]
        height = len(self.strips(place))
        if len(seen) == height or (seen and seen[0] == 0 and len(seen) == view.size):
            return
        follows = view.follows
        view.place(place, 0 if place <= view.top else max(0, view.size - height))
        view.follows = follows and view.follows

    async def action_open(self) -> None:
        """Opens or closes the block under the cursor; its first line stays where it is."""
        key = self._cursor
        place = self.page.find(key) if key is not None else None
        if key is None or place is None or not can_open(self._row_shown(place)):
            return
        lines = self._view.lines()
        at = next((y - line for y, (each, line) in enumerate(lines) if each == place), 0)
        self.page.toggle(key)
        await self._move(lambda: self._view.place(place, at))

    def _row_shown(self, place: int) -> TimelineRow:
        return self.page.shown[place]

    async def action_fold(self) -> None:
        """Opens or closes the last fold on screen, or the nearest one above."""
        lines = self._view.lines()
        bottom = lines[-1][0] + 1 if lines else 0
        place = self.page.next(bottom, -1, lambda row: isinstance(row, Fold))
        if place is None:
            return
        self._cursor = self.page.shown[place].key
        await self._move(lambda: self._reveal(place))
        await self.action_open()

    async def action_copy(self) -> None:
        """Copies the text of the block under the cursor, or of the last reply."""
        row = self._to_copy()
        while row is not None:
            painter = self._painter or self._new_painter()
            try:
                self.post_message(self.Copied(painter.text_of(row)))
                return
            except NotLoaded as missing:
                if not await self._load(missing):
                    return

    def _to_copy(self) -> TimelineRow | None:
        if self._cursor is not None:
            return next((row for row in self.page.shown if row.key == self._cursor), None)
        answers = (r for r in reversed(self.page.shown) if isinstance(r, Row) and r.kind == "reply")
        return next(answers, None)

    def highlight(self, words: str) -> None:
        """Highlights these words wherever they are on screen."""
        self._searched = words
        self.refresh()

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The selected text as it is shown, without the bars at its left."""
        found: list[str] = []
        for y, (place, line) in enumerate(self._view.lines()):
            span = selection.get_span(y)
            if span is not None:
                text = self.strips(place)[line].text
                words = text[span[0] : None if span[1] < 0 else span[1]]
                barred = span[0] < 3 and not text[:3].strip(" ┃│┊▌")
                found.append((words[3 - span[0] :] if barred else words).rstrip())
        return ("\n".join(found), "\n") if found else None
