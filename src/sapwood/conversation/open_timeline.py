"""A conversation that stays open for readers: its rows, kept up to date, read in pages.

The end of a long conversation can be read before its beginning: `complete` says whether all rows
are there. Rows of a fold are read by its key.
"""

import asyncio
from collections.abc import Sequence

from msgspec import Struct, structs

from sapwood.conversation.call import OpenSpace
from sapwood.conversation.timeline_reader import (
    LONG_CONVERSATION,
    ConversationRow,
    content_at,
    event_cache,
    read_timeline,
    read_timeline_end,
)
from sapwood.core.events import Recorded
from sapwood.core.ids import AgentId
from sapwood.core.timeline.layout import Page, is_dim, lay_out
from sapwood.core.timeline.row_content import PromptText
from sapwood.core.timeline.rows import Divider, Fold, Row, RowKey, TimelineRow
from sapwood.core.timeline.timeline import Timeline


class RowsPage(Struct, frozen=True):
    """Some rows of a conversation. `first` is the place of the first of them among `total`.

    `moved` counts the changes of the context: if it differs from before, rows may have other
    places. `complete` is false while the beginning is still being read. If a row was asked for,
    `target` is its key, and `fold` the key of the fold that it is in, as its row number `inside`.
    """

    rows: tuple[ConversationRow, ...]
    first: int
    total: int
    version: int
    moved: int
    is_open: bool
    complete: bool
    target: str = ""
    fold: str = ""
    inside: int = 0


class LeftTurns(Struct, frozen=True):
    """Turns that left view: where they are, after which turn, and their first prompts.

    Turns are named as people name them, such as `3`; `after` is '' at the beginning.
    """

    edge: Fold | Divider
    after: str
    prompts: tuple[tuple[str, str], ...] = ()


class OpenTimeline:
    """The rows of one agent. All methods first take in what the log has gained."""

    def __init__(self, space: OpenSpace, agent: AgentId) -> None:
        self._dispatcher = space.dispatcher
        self._log = space.log
        self._space = space.space
        self.agent = agent
        self._created = 0
        self._cache = event_cache(space.log, space.space)
        self._timeline = Timeline()
        self._rows = Page(self._timeline)
        self._complete = False
        self._reading: asyncio.Task[None] | None = None
        self._lock = asyncio.Lock()

    async def page(
        self, first: int | None = None, limit: int = 100, *, around: str = ""
    ) -> RowsPage:
        """The rows from a place on, or the last ones, or those around the row with this key."""
        await self._refresh()
        shown = self._rows.shown
        target = fold = ""
        inside = 0
        if around.startswith("at-") and around[3:].isdigit():
            row = self._timeline.row_at(self.agent, int(around[3:]))
            around = key_text(row.key) if row else ""
        elif around.startswith("turn-"):
            row = self._timeline.row_of_turn(around[5:])
            around = key_text(row.key) if row else ""
        if around:
            target = around
            place = next((n for n, row in enumerate(shown) if key_text(row.key) == around), None)
            if place is None:
                place, inside = self._place_near(around)
                fold = key_text(shown[place].key) if place is not None else ""
            first = None if place is None else place - limit // 2
        if first is None:
            first = len(shown) - limit
        first = max(0, min(first, len(shown)))
        page = await self._page(shown[first : first + limit], first, len(shown))
        return structs.replace(page, target=target, fold=fold, inside=inside)

    async def wait_until_complete(self) -> None:
        """Waits until the beginning of a long conversation was read too."""
        await self._refresh()
        if not self._complete:
            await self._read_beginning()

    async def fold(self, key: str, first: int = 0, limit: int = 100) -> RowsPage:
        """Rows inside the fold with this key."""
        await self._refresh()
        found = next(
            (row for row in self._rows.shown if isinstance(row, Fold) and key_text(row.key) == key),
            None,
        )
        if found is None:
            return await self._page((), 0, 0)
        inside = self._inside(found.key)
        return await self._page(inside[first : first + limit], first, len(inside))

    async def edges(self) -> tuple[Fold | Divider, ...]:
        """Where messages left view: the folds and the edge of the window, oldest first."""
        await self._refresh()
        return tuple(row for row in self._rows.shown if isinstance(row, Fold | Divider))

    async def left_behind(self, max_turns: int) -> tuple[LeftTurns, ...]:
        """The folds and the edge of the window, with the first `max_turns` prompts of each fold."""
        await self._refresh()
        found: list[LeftTurns] = []
        before = ""
        for row in self._rows.shown:
            if isinstance(row, Divider):
                found.append(LeftTurns(row, before))
            elif isinstance(row, Fold):
                prompts = [
                    each
                    for each in self._inside(row.key)
                    if isinstance(each, Row) and each.kind == "prompt" and not each.part
                ]
                titles = [await self._title(each) for each in prompts[:max_turns]]
                found.append(LeftTurns(row, before, tuple(titles)))
            elif isinstance(row, Row) and row.kind == "prompt":
                before = row.place
        return tuple(found)

    async def _title(self, row: Row) -> tuple[str, str]:
        content = await content_at(row, self._cache)
        words = content.text if isinstance(content, PromptText) else ""
        return row.place, " ".join(words[:200].split())

    async def _page(self, rows: Sequence[TimelineRow], first: int, total: int) -> RowsPage:
        timeline = self._timeline
        contents = [await content_at(row, self._cache) for row in rows]
        found = tuple(
            ConversationRow(row, content, is_dim(timeline, row))
            for row, content in zip(rows, contents, strict=True)
        )
        return RowsPage(
            found,
            first,
            total,
            timeline.version,
            timeline.changed,
            timeline.is_open,
            self._complete,
        )

    def _place_near(self, key: str) -> tuple[int | None, int]:
        """The place of the fold that the row with this key is in, and its number in the fold."""
        for place, row in enumerate(self._rows.shown):
            if isinstance(row, Fold):
                for number, each in enumerate(self._inside(row.key), 1):
                    if key_text(each.key) == key:
                        return place, number
        return None, 0

    def _inside(self, fold: RowKey) -> list[TimelineRow]:
        opened = lay_out(self._timeline, [fold])
        start = next(n for n, row in enumerate(opened) if row.key == fold) + 1
        size = len(opened) - len(self._rows.shown)
        return opened[start : start + size]

    async def _refresh(self) -> None:
        async with self._lock:
            if self._timeline.version == 0:
                await self._open()
            elif not self._complete:
                self._read_beginning()
            # The state is read after the events: in between, the log may become another one.
            news = await self._news(self._timeline)
            while (state := await self._dispatcher.state(self.agent)).created != self._created:
                await self._open_anew()
                news = await self._news(self._timeline)
            self._take_in(self._timeline, news)
            self._timeline.know_marks(mark.version for mark in state.marks)
            self._rows.update()

    async def _open(self) -> None:
        created = (await self._dispatcher.state(self.agent)).created
        summary = await self._log.summary(self._space, self.agent)
        version = summary.version if summary else 0
        is_short = version <= LONG_CONVERSATION
        if is_short:
            timeline = await read_timeline(self._log, self._space, self.agent, self._cache)
        else:
            timeline = await read_timeline_end(
                self._log, self._space, self.agent, version, self._cache
            )
        self._timeline, self._rows, self._complete = timeline, Page(timeline), is_short
        self._created = created

    async def _open_anew(self) -> None:
        """Reads other rows: the id now belongs to another log.

        A conversation was archived or restored, or one that was erased was started again.
        """
        changed = self._timeline.changed
        self._reading = None
        self._cache = event_cache(self._log, self._space)
        await self._open()
        self._timeline.changed = max(self._timeline.changed, changed) + 1

    def _read_beginning(self) -> "asyncio.Task[None]":
        """Starts to read the rest of a long conversation.

        Not at the first look: the page is painted before the server has this to do.
        """
        if self._reading is None:
            self._reading = asyncio.ensure_future(self._read_whole())
        return self._reading

    async def _read_whole(self) -> None:
        created = self._created
        whole = await read_timeline(self._log, self._space, self.agent, self._cache)
        async with self._lock:
            if self._created != created:
                return
            self._take_in(whole, await self._news(whole))
            whole.changed = max(whole.changed, self._timeline.changed) + 1
            self._timeline, self._rows, self._complete = whole, Page(whole), True

    async def _news(self, timeline: Timeline) -> list[Recorded]:
        return await self._log.read(self._space, self.agent, timeline.version + 1)

    def _take_in(self, timeline: Timeline, news: Sequence[Recorded]) -> None:
        for recorded in news:
            timeline.add(recorded)
            self._cache.add(recorded)

    def close(self) -> None:
        """Stops reading."""
        if self._reading is not None:
            self._reading.cancel()


def key_text(key: RowKey) -> str:
    """A row's key as text, for addresses and attributes.

    >>> key_text(("row", "abc", 7, 1))
    'row-abc-7-1'
    """
    return "-".join(map(str, key))


def row_version(row: TimelineRow) -> int:
    """The version of the newest event that the row shows."""
    return max(row.version, row.result) if isinstance(row, Row) else 0
