"""What a client asks of the log of a server: methods of `Log`, with their arguments and answers.

Client and server both use this table, so there is one description of the calls.

It also reads events as the server sends them: the same JSON as on every other face, written by
`sapwood.display.json_values.event_value`. The codec of the log decodes the event.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from inspect import signature
from typing import Any, get_type_hints

import msgspec
from msgspec import Raw, Struct, defstruct

from sapwood.core.content import Text, Thinking, ToolCall
from sapwood.core.events import Actor, Recorded, UnreadableEvent
from sapwood.core.events.codec import decode
from sapwood.core.ids import AgentId, CommandId
from sapwood.core.log_values import Cursor, TailedEvent
from sapwood.core.model_calls import Delta
from sapwood.turns.log import Log

_SECOND = 1_000_000


class _EventValue(Struct, frozen=True):
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


class TailedValue(_EventValue, frozen=True, kw_only=True):
    """An event of a space, and the cursor after it."""

    cursor: Cursor


_event = msgspec.json.Decoder(_EventValue)
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


class ServerSession(Struct, frozen=True):
    """Whom the server takes the client for: a name, its space, and what it may do."""

    name: str
    space: str
    scopes: tuple[str, ...]
    version: str


class EventsPage(Struct, frozen=True):
    """Events of one agent. `more`: there are more in the range that was asked for."""

    events: tuple[_EventValue, ...]
    more: bool = False


class LogCall(Struct, frozen=True):
    """A method of the log that clients call: what it does, its arguments, and its answer."""

    about: str
    arguments: type[Struct]
    answer: Any


def _log_call(method: Callable[..., object], about: str) -> LogCall:
    """Describes a method of the log. The space is that of the token, so it is not sent."""
    hints = get_type_hints(method)
    fields = [
        (name, hints[name]) if each.default is each.empty else (name, hints[name], each.default)
        for name, each in signature(method).parameters.items()
        if name not in ("self", "space")
    ]
    arguments = defstruct(method.__name__, fields, frozen=True)
    return LogCall(about, arguments, EventsPage if method is Log.read else hints["return"])


CALLS: dict[str, LogCall] = {
    method.__name__: _log_call(method, about)
    for method, about in (
        (Log.read, "Reads events of one agent, perhaps fewer than requested"),
        (Log.summary, "Reads the summary of one agent"),
        (Log.agents, "Reads a page of agents"),
        (Log.conversations, "Reads a page of the root agents of a folder"),
        (Log.working, "Reads a page of the agents that have work to do"),
        (Log.find, "Finds agents by id, name or the start of an id"),
        (Log.ancestors, "Reads the parents of an agent up to the root"),
        (Log.descendants, "Reads the children of an agent, and theirs"),
        (Log.family, "Reads the root of an agent and all its descendants"),
        (Log.end, "Reads the cursor after all events of the space"),
        (Log.search, "Searches all messages"),
        (Log.receipt, "Reads the first answer to a command"),
        (Log.snapshot, "Reads a stored state"),
    )
}
"""The calls by the name in their address."""
