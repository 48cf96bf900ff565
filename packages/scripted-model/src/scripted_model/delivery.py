"""Sends a reply as the script says: in pieces, slowly, with a stall, cut off or with an error.

The outcome is recorded before the last bytes are sent. A client that has the whole reply can
therefore rely on the recorded outcome.
"""

import asyncio
from collections.abc import Callable, Iterable
from typing import TypeAlias

from scripted_model.http_connection import HttpResponse
from scripted_model.json_values import encode
from scripted_model.prepared_reply import PreparedReply
from scripted_model.reply import Reply
from scripted_model.request_log import Outcome
from scripted_model.wires.wire import StreamEvent, Wire

_SSE = {"content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache"}
_JSON = {"content-type": "application/json"}
_FLUSH_SIZE = 16_384

OutcomeRecorder: TypeAlias = Callable[[Outcome, int], None]


async def deliver_whole(
    response: HttpResponse, body: object, reply: Reply, record_outcome: OutcomeRecorder
) -> None:
    """Sends a JSON body as a whole."""
    await asyncio.sleep(reply.stall)
    data = encode(body)
    if reply.cut is not None:
        record_outcome("cut", 200)
        await response.send_partial(_JSON, data, min(reply.cut, len(data) - 1))
    else:
        record_outcome("answered", 200)
        await response.send(200, _JSON, data)


async def deliver_stream(
    response: HttpResponse,
    wire: Wire,
    prepared: PreparedReply,
    reply: Reply,
    delay: float,
    record_outcome: OutcomeRecorder,
) -> None:
    """Sends a reply as a stream."""
    stream = _Stream(response, delay)
    end = reply.cut if reply.cut is not None else reply.at
    if await stream.send(wire.stream_events(prepared), end, reply.stall):
        record_outcome("answered", 200)
        await stream.finish()
    elif reply.cut is None and reply.status is not None:
        for event in wire.stream_error_events(prepared, reply.status, stream.sent):
            stream.write(event)
        record_outcome("failed", 200)
        await stream.finish()
    else:
        record_outcome("cut", 200)
        await stream.flush()
        await response.close()


async def deliver_failure(
    response: HttpResponse, events: Iterable[StreamEvent], record_outcome: OutcomeRecorder
) -> None:
    """Sends a stream that contains only an error."""
    stream = _Stream(response, 0.0)
    for event in events:
        stream.write(event)
    record_outcome("failed", 200)
    await stream.finish()


class _Stream:
    """A stream of events. Without a delay, several events are sent together."""

    def __init__(self, response: HttpResponse, delay: float) -> None:
        self._response = response
        self._delay = delay
        self._waiting = bytearray()
        self._chars = 0
        self.sent = 0
        response.start_stream(_SSE)

    async def send(self, events: Iterable[StreamEvent], end: int | None, stall: float) -> bool:
        """Sends events up to the character `end`. Returns whether all events were sent."""
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
            elif len(self._waiting) > _FLUSH_SIZE:
                await self.flush()
                await asyncio.sleep(0)
        return True

    def _is_past(self, event: StreamEvent, end: int) -> bool:
        return event.closing or (event.chars > 0 and self._chars + event.chars > end)

    def write(self, event: StreamEvent) -> None:
        """Adds an event to the bytes that `flush` sends."""
        self._waiting += event.data
        self._chars += event.chars
        self.sent += 1

    async def flush(self) -> None:
        """Sends the events written so far."""
        if self._waiting:
            await self._response.send_piece(bytes(self._waiting))
            self._waiting.clear()

    async def finish(self) -> None:
        """Sends the rest and ends the stream."""
        await self.flush()
        await self._response.finish_stream()
