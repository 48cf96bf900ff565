"""Server-sent events: one reader of the log for each agent serves all who follow that agent.

An event is encoded once. A follower names the last version that it has and gets every later event
once, in order: from memory if it is recent, else from the log. Words of a reply that is arriving
come as messages `delta`. Their id is the last version, a point, and how much of the reply has come,
so that a follower which connects again gets the rest.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import suppress

import msgspec

from sapwood.core.events import (
    AgentKilled,
    ModelCalled,
    Recorded,
    ReplyAdded,
    ReplyLost,
    TurnCompleted,
    TurnFailed,
    TurnInterrupted,
    WordsErased,
)
from sapwood.core.ids import AgentId, Space
from sapwood.core.live_words import LiveWords
from sapwood.core.log_values import LogAway
from sapwood.display.json_values import event_value
from sapwood.turns.log import Log

_KEPT = 512
_PAGE = 200
_TOGETHER = 0.02
_LONGEST_TOGETHER = 0.2
_FOLLOWERS = 16_000
"""Seconds for which events are collected before all followers are woken: more with more of them,
because each message to each follower costs time of this process."""
_ENDS_WORDS = (
    *(ModelCalled, ReplyAdded, ReplyLost),
    *(TurnCompleted, TurnFailed, TurnInterrupted, AgentKilled),
)
_BEAT = 15.0
_AGAIN = 0.5

_encode = msgspec.json.Encoder(enc_hook=str).encode


class AgentFeeds:
    """The feeds of the agents of one space that somebody follows."""

    def __init__(self, log: Log, space: Space) -> None:
        self._log = log
        self._space = space
        self._feeds: dict[AgentId, _Feed] = {}
        self._followers = 0
        self._beating: asyncio.TimerHandle | None = None
        self.closing = False

    @property
    def together(self) -> float:
        """Seconds for which events are collected now."""
        return min(_LONGEST_TOGETHER, _TOGETHER + self._followers / _FOLLOWERS)

    async def follow(self, agent: AgentId, after: int, words: int = 0) -> AsyncGenerator[bytes]:
        """Yields the messages of all events after a version, and a comment in times of silence.

        `words` is how much the follower has of the reply that was arriving at that version.
        """
        since = after
        feed = self._feeds.get(agent)
        if feed is None:
            feed = self._feeds[agent] = _Feed(self, self._log, self._space, agent)
        feed.followers += 1
        self._followers += 1
        if self._beating is None:
            self._beating = asyncio.get_running_loop().call_later(_BEAT, self._beat)
        try:
            yield b"retry: 1000\n\n"
            while not self.closing:
                seen = feed.count
                messages, after = feed.after(after)
                if messages is None:
                    page = await self._log.read(self._space, agent, after + 1, limit=_PAGE)
                    messages = b"".join(_message(recorded) for recorded in page)
                    after = page[-1].version if page else after
                    if not page:  # the feed is about to have it
                        await asyncio.sleep(_AGAIN)
                if not messages:
                    messages, since, words = feed.words_after(after, since, words)
                if messages:
                    yield messages
                elif feed.count == seen and not await feed.changed():
                    yield b": here\n\n"
        finally:
            feed.followers -= 1
            self._followers -= 1
            if not feed.followers and self._feeds.get(agent) is feed:
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


class _Feed:
    """The newest events of one agent, encoded; `count` grows whenever there are more."""

    def __init__(self, feeds: AgentFeeds, log: Log, space: Space, agent: AgentId) -> None:
        self._feeds = feeds
        self._log = log
        self._space = space
        self._agent = agent
        self._newest: deque[tuple[int, bytes]] = deque(maxlen=_KEPT)
        self._waiting: list[asyncio.Future[bool]] = []
        self._loop = asyncio.get_running_loop()
        self._joined: dict[int, bytes] = {}
        self._words: LiveWords | None = None
        self._deltas: dict[tuple[int, int], bytes] = {}
        self.followers = 0
        self.count = 0
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

    def words_after(self, version: int, since: int, size: int) -> tuple[bytes, int, int]:
        """The messages of the words that a follower at a version does not have.

        Also returns the version of the words that it has then, and how much that is.
        """
        words = self._words
        if words is None or words.asked > version:
            return b"", since, size
        if words.asked > since:
            since, size = words.asked, 0  # what it has is of an earlier reply
        messages = self._deltas.get((version, size))
        if messages is None:
            place = f"{version}.{words.size}"
            deltas = words.after(size)
            messages = b"".join(
                sse_message("delta", each, place if each is deltas[-1] else None) for each in deltas
            )
            self._deltas[version, size] = messages
        return messages, since, max(size, words.size)

    def add(self, what: Recorded | LiveWords) -> None:
        """Takes a new event, or the words of a reply that is arriving."""
        self._deltas.clear()
        if isinstance(what, LiveWords):
            self._words = what
            return
        recorded = what
        if isinstance(recorded.event, _ENDS_WORDS):
            self._words = None
        if isinstance(recorded.event, WordsErased):
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

    async def close(self) -> None:
        """Stops reading."""
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task

    async def _read(self) -> None:
        while True:
            try:
                await self._follow()
            except LogAway:
                await asyncio.sleep(_AGAIN)

    async def _follow(self) -> None:
        facts = await self._log.facts(self._space, self._agent)
        after = self._newest[-1][0] if self._newest else max(0, (facts.version if facts else 0) - 1)
        loop = asyncio.get_running_loop()
        waking: asyncio.TimerHandle | None = None
        async for what in self._log.watch(self._space, self._agent, after):
            self.add(what)
            if waking is None or waking.when() <= loop.time():
                waking = loop.call_later(self._feeds.together, self.wake)


def _message(recorded: Recorded) -> bytes:
    return sse_message(recorded.kind, event_value(recorded), recorded.version)


def sse_message(kind: str, value: object, place: int | str | None = None) -> bytes:
    """A message of an event stream. JSON has no line breaks, so one line holds all data."""
    head = b"" if place is None else f"id: {place}\n".encode()
    return head + b"event: " + kind.encode() + b"\ndata: " + _encode(value) + b"\n\n"
