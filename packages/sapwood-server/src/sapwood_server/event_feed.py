"""Server-sent events: one reader of the log for each agent serves all who follow that agent.

An event is encoded once. A follower names the last version that it has and gets every later event
once, in order: from memory if it is recent, else from the log. Words of a reply that is arriving
come as messages `delta`. Their id is the last version, a point, and how much of the reply has come,
so that a follower which connects again gets the rest. An event that comes in between moves the
version, so an id without data follows it.
"""

import asyncio
import time
from collections import deque
from collections.abc import AsyncGenerator

import msgspec
from msgspec import Struct, structs

from sapwood.core import events
from sapwood.core.ids import AgentId, Space
from sapwood.core.live_words import LiveWords
from sapwood.core.model_calls import RetryWait
from sapwood.display.json_values import event_value
from sapwood.turns.log import Log
from sapwood_server.event_stream import (
    AGAIN,
    BEAT,
    PAGE,
    measure_lag,
    read_until_it_fails,
    sse_message,
)

_KEPT = 512
_TOGETHER = 0.02
_MAX_DELAY = 0.2
_FOLLOWERS = 16_000
"""Seconds for which events are collected before all followers are woken: more with more of them,
because each message to each follower costs time of this process."""
_ENDS_WORDS = (
    *(events.ModelCalled, events.ReplyAdded, events.ReplyLost),
    *(events.TurnCompleted, events.TurnFailed, events.TurnInterrupted, events.AgentKilled),
)
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
            self._beating = asyncio.get_running_loop().call_later(BEAT, self._beat)
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
                    page = await self._log.read(self._space, agent, after + 1, limit=PAGE)
                    messages = b"".join(_message(recorded) for recorded in page)
                    ended = any(isinstance(recorded.event, _ENDS_WORDS) for recorded in page)
                    after = page[-1].version if page else after
                    if not page:  # the feed is about to have it
                        await asyncio.sleep(AGAIN)
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
        self._beating = loop.call_later(BEAT, self._beat) if beats else None


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
        await read_until_it_fails(self._follow, f"The events of {self._agent}")
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
                measure_lag(what, began)
            if waking is None or waking.when() <= loop.time():
                waking = loop.call_later(self._feeds.together, self.wake)


def _message(recorded: events.Recorded) -> bytes:
    return sse_message(recorded.kind, event_value(recorded), recorded.version)
