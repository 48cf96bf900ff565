"""Reads events as the server sends them: the same JSON as on every other face.

`sapwood.display.json_values.event_value` writes it. The codec of the log decodes the event.
"""

from datetime import UTC, datetime

import msgspec
from msgspec import Raw, Struct

from sapwood.core.content import Text, Thinking, ToolCall
from sapwood.core.events import Actor, Recorded, UnreadableEvent
from sapwood.core.events.codec import decode
from sapwood.core.ids import AgentId, CommandId
from sapwood.core.log_values import Cursor, TailedEvent
from sapwood.core.model_calls import Delta

_SECOND = 1_000_000


class EventValue(Struct, frozen=True):
    """An event with its envelope. `data` is the event as JSON."""

    agent: AgentId
    version: int
    kind: str
    at: datetime
    actor: str
    data: Raw
    command: CommandId = CommandId("")
    unreadable: bool = False

    def recorded(self) -> Recorded:
        """The event as the log has it."""
        if self.unreadable:  # the server cannot read it either
            event = msgspec.json.decode(self.data, type=UnreadableEvent)
        else:
            event = decode(self.kind, bytes(self.data))
        passed = self.at - datetime(1970, 1, 1, tzinfo=UTC)
        at = (passed.days * 86_400 + passed.seconds) * _SECOND + passed.microseconds
        return Recorded(self.agent, self.version, event, at, Actor.parse(self.actor), self.command)


class TailedValue(EventValue, frozen=True, kw_only=True):
    """An event of a space, and the cursor after it."""

    cursor: Cursor


_event = msgspec.json.Decoder(EventValue)
_tailed = msgspec.json.Decoder(TailedValue)
_delta = msgspec.json.Decoder(Delta)


def recorded_from(data: str | bytes) -> Recorded:
    """The event of a message of a stream. Raises `msgspec.MsgspecError`."""
    return _event.decode(data).recorded()


def part_from(data: str | bytes) -> Text | Thinking | ToolCall:
    """The words of a message `delta`. Raises `msgspec.MsgspecError`."""
    delta = _delta.decode(data)
    if delta.kind == "call":
        return ToolCall("", delta.name, "")
    return Text(delta.text) if delta.kind == "text" else Thinking(delta.text)


def tailed_from(data: str | bytes) -> TailedEvent:
    """The event of a message of the stream of a space. Raises `msgspec.MsgspecError`."""
    value = _tailed.decode(data)
    return TailedEvent(value.cursor, value.recorded())
