"""Sends an answer as scripted: in pieces, slowly, with a stall, cut off, or broken.

How it ended is noted before the last bytes go: who has the whole answer can rely on the log.
"""

import asyncio
from collections.abc import Callable, Iterable
from typing import TypeAlias

from sapwood.testing.scripted.journal import Outcome
from sapwood.testing.scripted.jsontree import encode
from sapwood.testing.scripted.reply import Reply
from sapwood.testing.scripted.transport import Outgoing
from sapwood.testing.scripted.wires.wire import Answer, Event, Wire

__all__ = ["Ended", "deliver_failure", "deliver_stream", "deliver_whole"]

Ended: TypeAlias = Callable[[Outcome, int], None]

_SSE = {"content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache"}
_JSON = {"content-type": "application/json"}
_FULL = 16_384


async def deliver_whole(out: Outgoing, body: object, reply: Reply, ended: Ended) -> None:
    """Sends an answer in one piece."""
    await asyncio.sleep(reply.stall)
    data = encode(body)
    if reply.cut is not None:
        ended("cut", 200)
        await out.partial(_JSON, data, min(reply.cut, len(data) - 1))
    else:
        ended("answered", 200)
        await out.whole(200, _JSON, data)


async def deliver_stream(
    out: Outgoing, wire: Wire, answer: Answer, reply: Reply, delay: float, ended: Ended
) -> None:
    """Sends an answer as a stream."""
    stream = _Stream(out, delay)
    end = reply.cut if reply.cut is not None else reply.at
    if await stream.send(wire.events(answer), end, reply.stall):
        ended("answered", 200)
        await stream.finish()
    elif reply.cut is None and reply.status is not None:
        for event in wire.broken(answer, reply.status, stream.sent):
            stream.write(event)
        ended("failed", 200)
        await stream.finish()
    else:
        ended("cut", 200)
        await stream.flush()
        await out.cut()


async def deliver_failure(out: Outgoing, events: Iterable[Event], ended: Ended) -> None:
    """Sends a stream that tells of a failure."""
    stream = _Stream(out, 0.0)
    for event in events:
        stream.write(event)
    ended("failed", 200)
    await stream.finish()


class _Stream:
    """Events on their way. Without a delay they travel together, as far as nothing waits."""

    def __init__(self, out: Outgoing, delay: float) -> None:
        self._out = out
        self._delay = delay
        self._waiting = bytearray()
        self._chars = 0
        self.sent = 0
        out.start(_SSE)

    async def send(self, events: Iterable[Event], end: int | None, stall: float) -> bool:
        """Sends events up to the character `end`; whether it got to the last one."""
        for event in events:
            if end is not None and self._is_past(event, end):
                return False
            self.write(event)
            if end and self._chars >= end:
                return False
            if stall and self._chars:
                await self.flush()
                await asyncio.sleep(stall)
                stall = 0.0
            if self._delay:
                await self.flush()
                await asyncio.sleep(self._delay)
            elif len(self._waiting) > _FULL:
                await self.flush()
                await asyncio.sleep(0)
        return True

    def _is_past(self, event: Event, end: int) -> bool:
        return event.closing or (event.chars > 0 and self._chars + event.chars > end)

    def write(self, event: Event) -> None:
        self._waiting += event.data
        self._chars += event.chars
        self.sent += 1

    async def flush(self) -> None:
        if self._waiting:
            await self._out.piece(bytes(self._waiting))
            self._waiting.clear()

    async def finish(self) -> None:
        await self.flush()
        await self._out.finish()
