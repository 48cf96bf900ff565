"""Server-sent events: one reader of the log for each agent serves all who follow that agent.

An event is encoded once. A follower names the last version that it has and gets every later event
once, in order: from memory if it is recent, else from the log. Words of a reply that is arriving
come as messages `delta`. Their id is the last version, a point, and how much of the reply has come,
so that a follower which connects again gets the rest. An event that comes in between moves the
version, so an id without data follows it.

Server-sent events of a whole space: one reader of the log serves all who follow the space.

A message is an event with its cursor as id, or, in the short form, what a list shows of each agent
that changed. A follower names the last cursor that it has and gets everything after it once.
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, suppress

import msgspec
from msgspec import Struct, structs

from sapwood.core import events
from sapwood.core.errors import SpaceMoved
from sapwood.core.ids import AgentId, Space
from sapwood.core.live_words import LiveWords
from sapwood.core.log_values import Cursor, LogUnavailable, TailedEvent
from sapwood.core.model_calls import RetryWait
from sapwood.display.json_values import agent_value, event_value
from sapwood.metrics import METRICS
from sapwood.turns.log import Log
from sapwood_server.recent_erasures import erased_within

_KEPT = 512
_PAGE = 200
_TOGETHER = 0.02
_MAX_DELAY = 0.2
_FOLLOWERS = 16_000
"""Seconds for which events are collected before all followers are woken: more with more of them,
because each message to each follower costs time of this process."""
_ENDS_WORDS = (
    *(events.ModelCalled, events.ReplyAdded, events.ReplyLost),
    *(events.TurnCompleted, events.TurnFailed, events.TurnInterrupted, events.AgentKilled),
)
_BEAT = 15.0
_AGAIN = 0.5

_log = logging.getLogger("sapwood.server")
_encode = msgspec.json.Encoder(enc_hook=str).encode


class AgentFeeds:
    """The feeds of the agents of one space that somebody follows."""

    def __init__(self, log: Log, space: Space) -> None:
        self._log = log
        self._space = space
        self._feeds: dict[AgentId, _Feed] = {}
        self._followers = 0
        self._beating: asyncio.TimerHandle | None = None
        self._waits: dict[str, _Wait] = {}
        self.closing = False

    def show_wait(self, wait: RetryWait) -> None:
        """Tells the followers of an agent that its provider is busy, and when it is asked again.

        It is sent as a comment, which clients of the API pass over: it is no event of the log.
        """
        now = time.monotonic()
        self._waits = {agent: each for agent, each in self._waits.items() if each.until > now}
        self._waits[wait.agent] = _Wait(wait, now + wait.seconds)
        if feed := self._feeds.get(AgentId(wait.agent)):
            feed.wake()

    @property
    def together(self) -> float:
        """Seconds for which events are collected now."""
        return min(_MAX_DELAY, _TOGETHER + self._followers / _FOLLOWERS)

    async def follow(
        self, agent: AgentId, after: int, words: int = 0, *, created: int = 0
    ) -> AsyncGenerator[bytes]:
        """Yields the messages of all events after a version, and a comment in times of silence.

        `words` is how much the follower has of the reply that was arriving at that version.
        `created` is when the agent was created: one that was made anew after its erasure is
        another. Ends if the events cannot be read here any more: followers connect again.
        """
        feed = self._feeds.get(agent)
        if feed is None or feed.ended or feed.created != created:
            if feed is not None:
                feed.end()
            feed = self._feeds[agent] = _Feed(self, self._log, self._space, agent, created)
        feed.followers += 1
        self._followers += 1
        if self._beating is None:
            self._beating = asyncio.get_running_loop().call_later(_BEAT, self._beat)
        try:
            yield b"retry: 1000\n\n"
            shown: _Wait | None = None
            while not self.closing and not feed.ended:
                seen = feed.count
                if (wait := self._waits.get(agent)) is not None and wait is not shown:
                    shown = wait
                    if message := wait.message():
                        yield message
                before = after
                messages, after = feed.after(before)
                ended = feed.words_ended > before
                if messages is None:
                    page = await self._log.read(self._space, agent, after + 1, limit=_PAGE)
                    messages = b"".join(_message(recorded) for recorded in page)
                    ended = any(isinstance(recorded.event, _ENDS_WORDS) for recorded in page)
                    after = page[-1].version if page else after
                    if not page:  # the feed is about to have it
                        await asyncio.sleep(_AGAIN)
                words = 0 if ended else words
                if not messages:
                    messages, words = feed.words_after(after, words)
                elif words:
                    messages += b"id: %d.%d\n\n" % (after, words)
                if messages:
                    yield messages
                elif feed.count == seen and not await feed.changed():
                    yield b": here\n\n"
        finally:
            feed.followers -= 1
            self._followers -= 1
            if not feed.followers:
                if self._feeds.get(agent) is feed:
                    del self._feeds[agent]
                await feed.close()

    def close(self) -> None:
        """Ends all streams."""
        self.closing = True
        if self._beating is not None:
            self._beating.cancel()
        for feed in self._feeds.values():
            feed.wake()

    def _beat(self) -> None:
        """Lets the followers of quiet agents send a comment, so that connections stay open."""
        for feed in self._feeds.values():
            feed.beat()
        beats = bool(self._feeds) and not self.closing
        loop = asyncio.get_running_loop()
        self._beating = loop.call_later(_BEAT, self._beat) if beats else None


class _Wait(Struct, frozen=True):
    """A call that failed and is tried again `until` a time of the monotonic clock."""

    wait: RetryWait
    until: float

    def message(self) -> bytes:
        """The comment for a follower that sees it now; empty if the wait is over."""
        left = self.until - time.monotonic()
        if left <= 0:
            return b""
        return b": wait " + _encode(structs.replace(self.wait, seconds=left)) + b"\n\n"


class _Feed:
    """The newest events of one agent, encoded; `count` grows whenever there are more."""

    def __init__(
        self, feeds: AgentFeeds, log: Log, space: Space, agent: AgentId, created: int
    ) -> None:
        self._feeds = feeds
        self._log = log
        self._space = space
        self._agent = agent
        self.created = created
        self._newest: deque[tuple[int, bytes]] = deque(maxlen=_KEPT)
        self._waiting: list[asyncio.Future[bool]] = []
        self._loop = asyncio.get_running_loop()
        self._joined: dict[int, bytes] = {}
        self._words: LiveWords | None = None
        self.words_ended = 0
        """The version of the newest event that ended a reply: words before it are of another."""
        self._deltas: dict[tuple[int, int], bytes] = {}
        self.followers = 0
        self.count = 0
        self.ended = False
        """Whether nothing is read any more: followers connect again, perhaps to another cell."""
        self._task = asyncio.ensure_future(self._read())

    def after(self, version: int) -> tuple[bytes | None, int]:
        """The messages after a version, and the version then; None if they are not in memory.

        Followers at the same version, which are most of them, share one text.
        """
        newest = self._newest
        if not newest or version < newest[0][0] - 1:
            return None, version
        last = newest[-1][0]
        if version >= last:
            return b"", version
        joined = self._joined.get(version)
        if joined is None:
            start = len(newest) - (last - version)
            joined = b"".join(newest[n][1] for n in range(start, len(newest)))
            self._joined[version] = joined
        return joined, last

    def words_after(self, version: int, size: int) -> tuple[bytes, int]:
        """The messages of the words that a follower at a version, with so much, does not have.

        Also returns how much it has then.
        """
        words = self._words
        if words is None or words.asked > version:
            return b"", size
        messages = self._deltas.get((version, size))
        if messages is None:
            messages = b"".join(
                sse_message("delta", each, f"{version}.{each.size}")
                for each in words.after(size, version)
            )
            self._deltas[version, size] = messages
        return messages, max(size, words.size)

    def add(self, what: events.Recorded | LiveWords) -> None:
        """Takes a new event, or the words of a reply that is arriving."""
        self._deltas.clear()
        if isinstance(what, LiveWords):
            self._words = what
            return
        recorded = what
        if isinstance(recorded.event, _ENDS_WORDS):
            self._words = None
            self.words_ended = recorded.version
        if isinstance(recorded.event, events.WordsErased):
            self._newest.clear()  # earlier events are not what they were
        self._newest.append((recorded.version, _message(recorded)))
        self._joined.clear()

    async def changed(self) -> bool:
        """Waits for more events, then returns true; returns false if there is only a beat.

        No timer for each follower: with thousands of them, that took longer than sending.
        """
        waiting = self._loop.create_future()
        self._waiting.append(waiting)
        return await waiting

    def wake(self) -> None:
        """Wakes all followers."""
        self.count += 1
        self._end_waiting(True)

    def beat(self) -> None:
        """Lets all followers send a comment, if there was nothing to send."""
        self._end_waiting(False)

    def _end_waiting(self, changed: bool) -> None:
        waiting, self._waiting = self._waiting, []
        for each in waiting:
            if not each.done():  # else its follower has gone
                each.set_result(changed)

    def end(self) -> None:
        """Ends the streams of all followers."""
        self.ended = True
        self.wake()

    async def close(self) -> None:
        """Stops reading."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _read(self) -> None:
        await _read_until_it_fails(self._follow, f"The events of {self._agent}")
        self.end()

    async def _follow(self) -> None:
        summary = await self._log.summary(self._space, self._agent)
        after = (
            self._newest[-1][0] if self._newest else max(0, (summary.version if summary else 0) - 1)
        )
        loop, began = asyncio.get_running_loop(), time.time()
        waking: asyncio.TimerHandle | None = None
        async for what in self._log.watch(self._space, self._agent, after):
            self.add(what)
            if isinstance(what, events.Recorded):
                _measure_lag(what, began)
            if waking is None or waking.when() <= loop.time():
                waking = loop.call_later(self._feeds.together, self.wake)


async def _read_until_it_fails(read: Callable[[], Awaitable[None]], what: str) -> None:
    """Reads again and again while the database is away. Returns if this cannot go on here.

    Another cell has the space then, or something failed, which is logged. Followers that connect
    again after a failure come to a new reader, but not at once.
    """
    while True:
        try:
            await read()
        except LogUnavailable:
            await asyncio.sleep(_AGAIN)
        except SpaceMoved:
            return
        except Exception:
            _log.exception("%s cannot be followed.", what)
            await asyncio.sleep(_AGAIN)
            return


def _message(recorded: events.Recorded) -> bytes:
    return sse_message(recorded.kind, event_value(recorded), recorded.version)


def sse_message(kind: str, value: object, place: int | str | None = None) -> bytes:
    """A message of an event stream. JSON has no line breaks, so one line holds all data."""
    head = b"" if place is None else f"id: {place}\n".encode()
    return head + b"event: " + kind.encode() + b"\ndata: " + _encode(value) + b"\n\n"


class AgentGone(Struct, frozen=True):
    """An agent that was erased."""

    agent: AgentId
    gone: bool = True


_SPACE_FEED_KEPT = 2_048
_SPACE_FEED_TOGETHER = 0.1
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
        while newest and (newest[0].at < oldest or len(newest) > _SPACE_FEED_KEPT):
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
                if len(found) == _PAGE or each.cursor.events >= self._start:
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
            async with asyncio.timeout(_BEAT):
                await self._changed.wait()
        return self._count != seen

    def _wake(self) -> None:
        self._count += 1
        before, self._changed = self._changed, asyncio.Event()
        before.set()

    async def _read(self) -> None:
        await _read_until_it_fails(self._keep_newest, f"The events of the space '{self._space}'")
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
            _measure_lag(each.recorded, began)
            self._forget_old()
            if waking is None or waking.when() <= loop.time():
                waking = loop.call_later(_SPACE_FEED_TOGETHER, self._wake)


def _measure_lag(recorded: events.Recorded, began: float) -> None:
    """Measures how late an event is here, unless it is older than the reader."""
    at = recorded.at / 1_000_000
    if at >= began:
        METRICS.observe("sapwood_follower_lag_seconds", max(0.0, time.time() - at))


def _kept(each: TailedEvent, at: float = 0.0) -> _Kept:
    value = {**event_value(each.recorded), "cursor": each.cursor}
    message = sse_message(each.recorded.kind, value, each.cursor.events)
    return _Kept(each.cursor.events, each.recorded.agent, message, at)
