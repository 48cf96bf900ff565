"""Server-sent events: one reader of the log for each agent serves all who follow that agent.

An event is encoded once. A follower names the last version that it has and gets every later event
once, in order: from memory if it is recent, else from the log.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Iterator
from contextlib import suppress

import msgspec

from sapwood.core.content import (
    File,
    Text,
    Thinking,
    ToolCall,
)
from sapwood.core.events import Recorded, ReplyStreamed, WordsErased
from sapwood.core.ids import AgentId, Space
from sapwood.core.log_values import LogAway
from sapwood.display.json_values import event_value
from sapwood.runtime.log import Log

__all__ = ["AgentFeeds", "sse_message"]

_KEPT = 512
_PAGE = 200
_TOGETHER = 0.02
_LONGEST_TOGETHER = 0.2
_FOLLOWERS = 8_000
"""Seconds for which events are collected before all followers are woken: more with more of them,
because each message to each follower costs time of this process."""
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
        self.closing = False

    @property
    def together(self) -> float:
        """Seconds for which events are collected now."""
        return min(_LONGEST_TOGETHER, _TOGETHER + self._followers / _FOLLOWERS)

    async def follow(self, agent: AgentId, after: int) -> AsyncGenerator[bytes]:
        """Yields the messages of all events after a version, and a comment in times of silence."""
        feed = self._feeds.get(agent)
        if feed is None:
            feed = self._feeds[agent] = _Feed(self, self._log, self._space, agent)
        feed.followers += 1
        self._followers += 1
        try:
            yield b"retry: 1000\n\n"
            while not self.closing:
                seen = feed.count
                messages, after = feed.after(after)
                if messages is None:
                    page = await self._log.read(self._space, agent, after + 1, limit=_PAGE)
                    messages = [_message(recorded) for recorded in page]
                    after = page[-1].version if page else after
                    if not page:  # the feed is about to have it
                        await feed.wait(seen, _AGAIN)
                if messages:
                    yield b"".join(messages)
                elif not await feed.wait(seen, _BEAT):
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
        for feed in self._feeds.values():
            feed.wake()


class _Feed:
    """The newest events of one agent, encoded; `count` grows whenever there are more."""

    def __init__(self, feeds: AgentFeeds, log: Log, space: Space, agent: AgentId) -> None:
        self._feeds = feeds
        self._log = log
        self._space = space
        self._agent = agent
        self._newest: deque[tuple[int, bytes]] = deque(maxlen=_KEPT)
        self._changed = asyncio.Event()
        self.followers = 0
        self.count = 0
        self._task = asyncio.ensure_future(self._read())

    def after(self, version: int) -> tuple[list[bytes] | None, int]:
        """The messages after a version, and the version then; None if they are not in memory."""
        newest = self._newest
        if not newest or version < newest[0][0] - 1:
            return None, version
        last = newest[-1][0]
        if version >= last:
            return [], version
        start = len(newest) - (last - version)
        return [newest[n][1] for n in range(start, len(newest))], last

    async def wait(self, seen: int, seconds: float) -> bool:
        """Waits until `count` differs from `seen`; returns false if the time is up."""
        if self.count != seen:
            return True
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._changed.wait()
        return self.count != seen

    def wake(self) -> None:
        """Wakes all followers."""
        self.count += 1
        before, self._changed = self._changed, asyncio.Event()
        before.set()

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
        async for recorded in self._log.follow(self._space, self._agent, after):
            if isinstance(recorded.event, WordsErased):
                self._newest.clear()  # earlier events are not what they were
            self._newest.append((recorded.version, _message(recorded)))
            if waking is None or waking.when() <= loop.time():
                waking = loop.call_later(self._feeds.together, self.wake)


def _message(recorded: Recorded) -> bytes:
    """The message of an event. Words of a reply that arrive come as deltas before it."""
    deltas = b"".join(sse_message("delta", each) for each in _deltas(recorded))
    return deltas + sse_message(recorded.kind, event_value(recorded), recorded.version)


def _deltas(recorded: Recorded) -> Iterator[dict[str, str]]:
    if isinstance(recorded.event, ReplyStreamed):
        for part in recorded.event.parts:
            match part:
                case Text(text):
                    yield {"kind": "text", "text": text}
                case Thinking(text):
                    yield {"kind": "thinking", "text": text}
                case File():
                    pass
                case ToolCall(_, name):
                    yield {"kind": "call", "text": "", "name": name}


def sse_message(kind: str, value: object, number: int | None = None) -> bytes:
    """A message of an event stream. JSON has no line breaks, so one line holds all data."""
    head = b"" if number is None else b"id: %d\n" % number
    return head + b"event: " + kind.encode() + b"\ndata: " + _encode(value) + b"\n\n"
