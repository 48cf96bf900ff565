"""Server-sent events of a whole space: one reader of the log serves all who follow the space.

A message is an event with its cursor as id, or, in the short form, what a list shows of each agent
that changed. A follower names the last cursor that it has and gets everything after it once.
"""

import asyncio
import time
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress

from msgspec import Struct

from sapwood.core import events
from sapwood.core.ids import AgentId, Space
from sapwood.core.log_values import Cursor, TailedEvent
from sapwood.display.json_values import agent_value, event_value
from sapwood.turns.log import Log
from sapwood_server.event_stream import (
    BEAT,
    PAGE,
    measure_lag,
    read_until_it_fails,
    sse_message,
)
from sapwood_server.recent_erasures import erased_within


class AgentGone(Struct, frozen=True):
    """An agent that was erased."""

    agent: AgentId
    gone: bool = True


_KEPT_EVENTS = 2_048
_TOGETHER = 0.1
_SECONDS = 30.0
"""How long an event is kept in memory, so that nothing stays there that was erased."""
_CLOCKS_DIFFER = 60.0
"""Seconds by which the clock of a process that erases may be behind."""


class _Kept(Struct, frozen=True):
    """An event that was read: the cursor after it, its agent, and its message."""

    after: int
    agent: AgentId
    message: bytes
    at: float = 0.0


class SpaceFeed:
    """The newest events of one space. It reads the log only while somebody follows."""

    def __init__(self, log: Log, space: Space) -> None:
        self._log = log
        self._space = space
        self._newest: deque[_Kept] = deque()
        self._start = 0
        """The cursor before the first event that was kept."""
        self._reader: asyncio.Task[None] | None = None
        """Reads the log. If it ends, so do the streams of its followers; the next has a new one."""
        self._started = False
        self._changed = asyncio.Event()
        self._count = 0
        self._followers = 0
        self._shown: dict[AgentId, tuple[int, bytes]] = {}
        self.closing = False

    async def follow(self, after: Cursor | None, *, short: bool) -> AsyncGenerator[bytes]:
        """Yields the messages after a cursor, by default after now, and comments in silence."""
        self._followers += 1
        if self._reader is None:
            self._reader = asyncio.ensure_future(self._read())
        reader = self._reader
        try:
            yield b"retry: 1000\n\n"
            while self._is_read_by(reader) and not self._started:
                if not await self._wait(self._count):
                    yield b": here\n\n"
            if not self._is_read_by(reader):
                return
            place = Cursor(self._start if not self._newest else self._newest[-1].after)
            place = place if after is None else after
            if after is None:
                yield b"id: %d\nevent: start\ndata: {}\n\n" % place.events
            elif self._newest:
                await self._forget_if_erased()
            while self._is_read_by(reader):
                seen = self._count
                self._forget_old()
                if place.position or place.events < self._start:
                    page = await self._page(place)
                else:
                    page = [each for each in self._newest if each.after > place.events]
                if page:
                    place = Cursor(page[-1].after)
                    yield await self._short(page) if short else b"".join(k.message for k in page)
                elif not await self._wait(seen):
                    yield b": here\n\n"
        finally:
            self._followers -= 1
            if not self._followers:
                await self._stop()

    def close(self) -> None:
        """Ends all streams."""
        self.closing = True
        self._wake()

    def _is_read_by(self, reader: asyncio.Task[None]) -> bool:
        return not self.closing and self._reader is reader

    def _forget(self, count: int) -> None:
        """Forgets the oldest events: who asks for them reads the log."""
        for _ in range(count):
            self._start = self._newest.popleft().after
        if not self._newest:
            self._shown.clear()

    def _forget_old(self) -> None:
        oldest, newest = asyncio.get_running_loop().time() - _SECONDS, self._newest
        while newest and (newest[0].at < oldest or len(newest) > _KEPT_EVENTS):
            self._forget(1)

    async def _forget_if_erased(self) -> None:
        """Forgets all events if some that are kept may be of an agent that was erased."""
        if await erased_within(self._log, self._space, _SECONDS + _CLOCKS_DIFFER):
            self._forget(len(self._newest))

    async def _stop(self) -> None:
        if (reader := self._reader) is not None:
            self._end()
            reader.cancel()
            await asyncio.gather(reader, return_exceptions=True)

    def _end(self) -> None:
        """Lets the next follower begin anew."""
        self._reader = None
        self._started = False
        self._newest.clear()
        self._shown.clear()
        self._wake()

    async def _page(self, after: Cursor) -> list[_Kept]:
        """Events that are no longer in memory."""
        found: list[_Kept] = []
        tail = self._log.tail(self._space, after)
        async with aclosing(tail):  # pyright: ignore[reportArgumentType] # every log has a generator
            async for each in tail:
                found.append(_kept(each))
                if len(found) == PAGE or each.cursor.events >= self._start:
                    break
        return found

    async def _short(self, page: list[_Kept]) -> bytes:
        """What lists show of the agents that changed; the last message has the cursor as id."""
        pieces: list[bytes] = []
        last = {each.agent: each.after for each in page}
        for agent, at in sorted(last.items(), key=lambda item: item[1]):
            known = self._shown.get(agent)
            if known is None or known[0] < at:
                summary = await self._log.summary(self._space, agent)
                value = AgentGone(agent) if summary is None else agent_value(summary)
                known = self._shown[agent] = (at, sse_message("agent", value))
            pieces.append(known[1])
        pieces[-1] = b"id: %d\n" % page[-1].after + pieces[-1]
        return b"".join(pieces)

    async def _wait(self, seen: int) -> bool:
        """Waits for more; returns false if there is silence."""
        if self._count != seen:
            return True
        with suppress(TimeoutError):
            async with asyncio.timeout(BEAT):
                await self._changed.wait()
        return self._count != seen

    def _wake(self) -> None:
        self._count += 1
        before, self._changed = self._changed, asyncio.Event()
        before.set()

    async def _read(self) -> None:
        await read_until_it_fails(self._keep_newest, f"The events of the space '{self._space}'")
        if self._reader is asyncio.current_task():
            self._end()

    async def _keep_newest(self) -> None:
        if not self._started:
            self._start = (await self._log.end(self._space)).events
            self._started = True
            self._wake()
        await self._keep(Cursor(self._newest[-1].after if self._newest else self._start))

    async def _keep(self, after: Cursor) -> None:
        loop, began = asyncio.get_running_loop(), time.time()
        waking: asyncio.TimerHandle | None = None
        async for each in self._log.tail(self._space, after):
            if isinstance(each.recorded.event, events.WordsErased):
                self._forget(len(self._newest))  # earlier events are not what they were
            self._newest.append(_kept(each, loop.time()))
            measure_lag(each.recorded, began)
            self._forget_old()
            if waking is None or waking.when() <= loop.time():
                waking = loop.call_later(_TOGETHER, self._wake)


def _kept(each: TailedEvent, at: float = 0.0) -> _Kept:
    value = {**event_value(each.recorded), "cursor": each.cursor}
    message = sse_message(each.recorded.kind, value, each.cursor.events)
    return _Kept(each.cursor.events, each.recorded.agent, message, at)
