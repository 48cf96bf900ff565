"""Reads a conversation from the log as a timeline, and the events behind its rows.

Rows hold places in logs. `EventCache` keeps the events of the rows that are on screen, so a long
conversation is never in memory as a whole; `read_conversation` looks up the content of every row
for a face that prints.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection, Sequence
from operator import is_not
from typing import TypeVar, cast

from msgspec import Struct, structs

from sapwood.core.content import File, Text
from sapwood.core.errors import LogError
from sapwood.core.events import AgentStarted, Recorded, TurnStarted, WordsErased
from sapwood.core.ids import AgentId, EventRef, Space
from sapwood.core.timeline.layout import is_dim, lay_out_everything, lay_out_in_view
from sapwood.core.timeline.row_content import HiddenMessages, RowContent, content_of
from sapwood.core.timeline.rows import Banner, Row, TimelineRow
from sapwood.core.timeline.timeline import Timeline
from sapwood.core.turn_numbers import TURN_STARTS
from sapwood.turns.log import Log
from sapwood.turns.open_agent import open_state, read_live
from sapwood.turns.turn_lookup import names_of, number_at

ReadEvents = Callable[[AgentId, int, int], Awaitable[list[Recorded]]]
"""Reads the events of an agent from one version to another, both included."""

LONG_CONVERSATION = 3_000
"""From this many events on, a screen shows the end of a conversation before it reads the rest."""

T = TypeVar("T")

_CONTAINERS: tuple[type[object], ...] = (tuple, Struct)
_CACHE_PAGE = 64
_PAGES_KEPT = 96
_LOG_PAGE = 1_000
_END = 300


class NotLoaded(Exception):
    """The event of a row is not in the cache: load it and try again."""

    def __init__(self, agent: AgentId, version: int) -> None:
        super().__init__(f"{agent}:{version}")
        self.agent = agent
        self.version = version


class _ShownFile(File, frozen=True, gc=False):
    """What rows show of a file: the line that stands for it, and not its content."""

    shown_size: int = 0

    @property
    def size(self) -> int:
        """The number of bytes of the content."""
        return self.shown_size


def _without_contents(value: T) -> T:
    """The value with no content in its files. It is the same object if it has none."""
    if isinstance(value, File):
        facts = (value.media_type, "", value.name, value.width, value.height, value.size)
        return cast("T", _ShownFile(*facts))
    if isinstance(value, tuple):
        parts = cast("tuple[object, ...]", value)
        light = tuple([_without_contents(each) for each in parts])
        return cast("T", light if any(map(is_not, light, parts)) else parts)
    if isinstance(value, Struct):
        changed: dict[str, object] = {}
        for name in value.__struct_fields__:
            old: object = getattr(value, name)
            if isinstance(old, _CONTAINERS) and (new := _without_contents(old)) is not old:
                changed[name] = new
        return structs.replace(value, **changed) if changed else value
    return value


class EventCache:
    """Pages of logs; the page that was not used for the longest time is dropped first.

    Contents of files are not kept: no row shows them, and they are most of the bytes.
    """

    def __init__(self, read: ReadEvents) -> None:
        self._read = read
        self._pages: OrderedDict[tuple[AgentId, int], dict[int, Recorded]] = OrderedDict()

    def event(self, agent: AgentId, version: int) -> Recorded:
        """Returns the event. Raises `NotLoaded`."""
        key = (agent, version // _CACHE_PAGE)
        page = self._pages.get(key)
        found = page.get(version) if page else None
        if found is None:
            raise NotLoaded(agent, version)
        self._pages.move_to_end(key)
        return found

    async def load(self, agent: AgentId, version: int) -> None:
        """Reads the page that this event is on."""
        number = version // _CACHE_PAGE
        first = number * _CACHE_PAGE
        found = await self._read(agent, first, first + _CACHE_PAGE - 1)
        page = {recorded.version: _without_contents(recorded) for recorded in found}
        self._keep((agent, number), page)

    def add(self, recorded: Recorded) -> None:
        """Keeps an event that was read or committed already.

        One that says that words were erased drops all others: they are read again.
        """
        if isinstance(recorded.event, WordsErased):
            self._pages.clear()
        key = (recorded.agent, recorded.version // _CACHE_PAGE)
        page = self._pages.get(key)
        if page is None:
            self._keep(key, page := {})
        page[recorded.version] = _without_contents(recorded)

    def _keep(self, key: tuple[AgentId, int], page: dict[int, Recorded]) -> None:
        self._pages[key] = page
        self._pages.move_to_end(key)
        while len(self._pages) > _PAGES_KEPT:
            self._pages.popitem(last=False)


class ConversationRow(Struct, frozen=True):
    """A row with its content. The model cannot see a `dim` one."""

    row: TimelineRow
    content: RowContent
    dim: bool = False


class ConversationRows(Struct, frozen=True):
    """The rows of a conversation with their content, oldest first, and whether a turn is open."""

    rows: tuple[ConversationRow, ...]
    is_open: bool = False


def event_cache(log: Log, space: Space) -> EventCache:
    """An empty cache over this log."""

    async def read(agent: AgentId, first: int, last: int) -> list[Recorded]:
        return await log.read(space, agent, first, last)

    return EventCache(read)


async def read_timeline(log: Log, space: Space, agent: AgentId, cache: EventCache) -> Timeline:
    """Reads all rows of an agent, those that a fork inherited first. Caches the last events."""
    timeline = Timeline()
    while page := await log.read(space, agent, timeline.version + 1, limit=_LOG_PAGE):
        if timeline.version == 0:
            await _inherit(log, space, page[0], timeline)
        if len(page) < _LOG_PAGE:
            _add(timeline, page)
            for recorded in page:
                cache.add(recorded)
            break
        await asyncio.to_thread(_add, timeline, page)  # others have the event loop meanwhile
    return timeline


def _add(timeline: Timeline, page: list[Recorded]) -> None:
    for recorded in page:
        timeline.add(recorded)


async def read_timeline_end(
    log: Log, space: Space, agent: AgentId, version: int, cache: EventCache
) -> Timeline:
    """Reads the last rows up to a version: enough for some screens. Caches their events."""
    events = await log.read(space, agent, max(1, version - _END), version)
    start = next((each.ref for each in events if each.kind in TURN_STARTS), None)
    timeline = Timeline(await number_at(log, space, start) - 1 if start else 0)
    for recorded in events:
        timeline.add(recorded)
        cache.add(recorded)
    return timeline


async def read_conversation(
    log: Log,
    space: Space,
    agent: AgentId,
    *,
    everything: bool = False,
    turns: Collection[EventRef] = (),
) -> ConversationRows:
    """Reads the rows that the model can see, or with `everything` all of them, with contents.

    With `turns`, which are the events that start them, reads only their rows, in view or not. Of
    the marks, those that exist now; with `everything` also the others, which are then dim.
    """
    cache = event_cache(log, space)
    timeline = await read_timeline(log, space, agent, cache)
    state = await open_state(log, space, agent)
    timeline.know_marks(mark.version for mark in state.marks)
    everything = everything or bool(turns)
    rows = lay_out_everything(timeline) if everything else lay_out_in_view(timeline)
    if turns:
        rows = _rows_of(rows, turns)
    found: list[ConversationRow] = []
    for row in rows:
        content = await content_at(row, cache)
        if isinstance(row, Banner) and not (row.in_view or everything):
            content = HiddenMessages(row)  # the model no longer sees this summary
        found.append(ConversationRow(row, content, is_dim(timeline, row)))
    return ConversationRows(tuple(found), timeline.is_open)


def _rows_of(rows: Sequence[TimelineRow], turns: Collection[EventRef]) -> list[TimelineRow]:
    """The rows of the turns that these events start."""
    placed = [row for row in rows if isinstance(row, Row)]
    wanted = {row.turn for row in placed if EventRef(row.agent, row.version) in turns}
    return [row for row in placed if row.turn >= 0 and row.turn in wanted]


async def sent_prompts(log: Log, space: Space, agent: AgentId) -> list[str]:
    """What people sent to this agent, oldest first; of a long log the last part only."""
    found: list[str] = []
    for recorded in await log.read(space, agent, limit=_LOG_PAGE, backward=True):
        if isinstance(recorded.event, TurnStarted) and recorded.actor.role == "human":
            words = [part.text for part in recorded.event.prompt if isinstance(part, Text)]
            found.append("\n\n".join(words))
    return [text for text in reversed(found) if text]


async def _inherit(log: Log, space: Space, first: Recorded, timeline: Timeline) -> None:
    event = first.event
    if not isinstance(event, AgentStarted) or event.context.tip is None:
        return
    state = await open_state(log, space, first.agent, 1)
    live = await read_live(log, space, state, context=event.context)
    cuts = live.cuts
    if cuts.turns:
        whole = structs.replace(event.context, cuts=None)
        live = await read_live(log, space, state, context=whole)
    agents = {turn.agent for turn in live.turns}
    timeline.inherit(live.turns, await names_of(log, space, first.agent, agents), cuts)


async def content_at(row: TimelineRow, cache: EventCache) -> RowContent:
    """Looks up the content of a row; reads its event from the log if needed."""
    loaded: set[tuple[AgentId, int]] = set()
    while True:
        try:
            return content_of(row, cache.event)
        except NotLoaded as missing:
            place = (missing.agent, missing.version)
            if place in loaded:
                raise LogError(f"The log does not contain {missing}.") from None
            loaded.add(place)
            await cache.load(*place)
