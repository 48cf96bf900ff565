"""Reads events as they are committed: `follow` for one agent, `tail` for a whole space.

The versions of one agent are committed in order, so `follow` needs only the last version seen.
Transactions of a space can end in another order than they began. So `tail` reads only events before
a place at which the order is settled: no event can appear before the cursor later.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import TypeVar

from sapwood.core.events import Recorded
from sapwood.core.ids import AgentId, Space
from sapwood.core.live_words import LiveWords
from sapwood.core.log_values import (
    Cursor,
    LogError,
    TailedEvent,
    steps_with_gaps,
)
from sapwood.store.postgres.commit_notifier import CommitNotifier, watchers_of, words_of
from sapwood.store.postgres.connections import ReaderPool
from sapwood.store.postgres.cursor_places import CursorPlaces
from sapwood.store.postgres.event_table import (
    COLUMNS,
    EventPlace,
    read_part,
    recorded_of,
)
from sapwood.store.postgres.key_table import KeyTable
from sapwood.store.postgres.live_word_table import LiveWordReader
from sapwood.store.postgres.settled import PASSED, Settled

T = TypeVar("T")

_PAGE = 1_000
_FIRST_PAUSE = 0.01
_STALLED = 0.04
"""A running transaction that takes so many seconds may be a stranger's."""

_TAIL = f"""
    SELECT event.*, past.complete
    FROM (
        SELECT {PASSED} AS limit, pg_snapshot_xmin(shot) = pg_snapshot_xmax(shot) AS complete
        FROM pg_current_snapshot() AS shot
    ) AS past
    LEFT JOIN LATERAL (
        SELECT {COLUMNS}, tx, position FROM sapwood.events
        WHERE space = $1 AND (tx, position) > ($2, $3) AND tx < past.limit::text::xid8
        ORDER BY tx, position LIMIT $6
    ) AS event ON true
"""

_GAPS = """
    SELECT tx, position FROM sapwood.gaps
    WHERE space = $1 AND (tx, position) > ($2, $3) AND (tx, position) < ($4, $5)
    ORDER BY tx, position
"""


class LiveEvents:
    """Follows the log. Every iterator ends when the log is closed."""

    def __init__(
        self,
        readers: ReaderPool,
        scanners: ReaderPool,
        places: CursorPlaces,
        notifier: CommitNotifier,
        poll: float,
        settled: Settled,
        live_words: LiveWordReader,
        keys: KeyTable | None = None,
        require_here: Callable[[Space], Awaitable[None]] | None = None,
    ) -> None:
        """`require_here` raises `SpaceMoved` for those who follow a space that has left."""
        self._require_here = require_here
        self._keys = keys
        self._readers = readers
        self._scanners = scanners
        self._places = places
        self._notifier = notifier
        self._poll = poll
        self._settled = settled
        self._live_words = live_words

    async def follow(self, space: Space, agent: AgentId, after: int) -> AsyncIterator[Recorded]:
        """Every event of one agent after a version, then each new one."""
        with self._notifier.subscribe(space, agent) as signal:
            while not self._notifier.closed:
                signal.clear()
                page = await self._events(space, agent, after)
                for recorded in page:
                    yield recorded
                    after = recorded.version
                if not page:
                    await self._check_place(space)
                if len(page) < _PAGE:
                    await signal.wait(self._poll)

    async def watch(
        self, space: Space, agent: AgentId, after: int
    ) -> AsyncIterator[Recorded | LiveWords]:
        """As `follow`, and the words of the reply that is arriving whenever there are more."""
        shown, is_woken, reply = "", False, 0
        with (
            self._notifier.subscribe(space, agent) as commits,
            self._notifier.subscribe(space, agent) as signal,
            self._notifier.subscribe(space, words_of(agent), signal),
        ):
            while not self._notifier.closed:
                signal.clear()
                page = list[Recorded]()
                if commits.is_set() or not is_woken:  # else there are only more words
                    commits.clear()
                    page = await self._events(space, agent, after)
                for recorded in page:
                    yield recorded
                    after = recorded.version
                if len(page) == _PAGE:
                    is_woken = False
                    continue
                arriving = await self._unless_closed(self._words(space, agent))
                for words in arriving:
                    if words.asked != reply:
                        reply = words.asked
                        self._notifier.notify({(space, watchers_of(agent))})
                    if words.asked <= after and words.command != shown:
                        shown = words.command
                        yield words
                if not page and not arriving:
                    await self._check_place(space)
                is_woken = await signal.wait(self._poll)

    async def _events(self, space: Space, agent: AgentId, after: int) -> list[Recorded]:
        """The next events of one agent after a version."""
        fetch = self._readers.of(space).fetch
        return await self._unless_closed(
            read_part(fetch, space, agent, after + 1, None, _PAGE, False, self._keys)
        )

    async def _check_place(self, space: Space) -> None:
        """Raises `SpaceMoved` if nothing more will happen here."""
        if self._require_here is not None and not self._notifier.closed:
            await self._require_here(space)

    async def _words(self, space: Space, agent: AgentId) -> list[LiveWords]:
        cipher = None if self._keys is None else await self._keys.of(space)
        words = await self._live_words.find(space, agent, cipher)
        return [] if words is None else [words]

    async def tail(self, space: Space, after: Cursor) -> AsyncIterator[TailedEvent]:
        """Every event of a space after a cursor, then each new one.

        Raises `LogError` if the space has no event at the cursor.
        """
        count, place = await self._places.place_of(space, after)
        pause = _FIRST_PAUSE
        with self._notifier.subscribe(space) as signal:
            while not self._notifier.closed:
                signal.clear()
                page, complete = await self._page(space, place)
                steps = await self._steps(space, place, [at for at, _ in page])
                for step, (at, recorded) in zip(steps, page, strict=True):
                    count, place = count + step, at
                    yield TailedEvent(Cursor(count), recorded)
                if len(page) == _PAGE:
                    continue
                if not page:
                    await self._check_place(space)
                # A running transaction may hide later events, and it does not notify us at its
                # end if it is not Sapwood's.
                pause = self._poll if complete else min(2 * pause, self._poll)
                if await signal.wait(pause):
                    pause = _FIRST_PAUSE
                elif not complete and pause >= _STALLED:
                    await self._settled.advance()

    async def _page(
        self, space: Space, after: EventPlace
    ) -> tuple[list[tuple[EventPlace, Recorded]], bool]:
        """The next events, and whether no running transaction could hide further ones."""
        rows = await self._unless_closed(
            self._scanners.of(space).fetch(_TAIL, space, *after, *self._settled.arguments, _PAGE)
        )
        found = [row for row in rows if row["tx"] is not None]
        fetch = self._readers.of(space).fetch
        events = await self._unless_closed(recorded_of(fetch, space, found, self._keys))
        places = (EventPlace(row["tx"], row["position"]) for row in found)
        complete = bool(rows) and rows[0]["complete"]
        return list(zip(places, events, strict=False)), complete

    async def _steps(
        self, space: Space, after: EventPlace, places: Sequence[EventPlace]
    ) -> list[int]:
        """By how much each event raises the count: one, and the erased ones before it."""
        if not places:
            return []
        rows = await self._unless_closed(
            self._scanners.of(space).fetch(_GAPS, space, *after, *places[-1])
        )
        return steps_with_gaps(places, [EventPlace(row["tx"], row["position"]) for row in rows])

    async def _unless_closed(self, reading: "Awaitable[list[T]]") -> "list[T]":
        """The result of a read, or an empty list if the log was closed meanwhile."""
        try:
            return await reading
        except LogError:
            if self._notifier.closed:
                return []
            raise
