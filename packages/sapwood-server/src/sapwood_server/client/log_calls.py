"""What a client asks of the log of a server: one class for each call, with the type of its answer.

Client and server both use this table, so there is one description of the calls.

Reads events as the server sends them: the same JSON as on every other face.

`sapwood.display.json_values.event_value` writes it. The codec of the log decodes the event.
"""

from datetime import UTC, datetime
from typing import Literal

import msgspec
from msgspec import Raw, Struct

from sapwood.core.content import Text, Thinking, ToolCall
from sapwood.core.events import Actor, Recorded, UnreadableEvent
from sapwood.core.events.codec import decode
from sapwood.core.ids import AgentId, CommandId
from sapwood.core.log_values import (
    AgentSummary,
    Cursor,
    Order,
    Receipt,
    SearchHit,
    Snapshot,
    TailedEvent,
)
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


Status = Literal["running", "archived", "killed"]


class ServerSession(Struct, frozen=True):
    """Whom the server takes the client for: a name, its space, and what it may do."""

    name: str
    space: str
    scopes: tuple[str, ...]
    version: str


class EventsPage(Struct, frozen=True):
    """Events of one agent. `more`: there are more in the range that was asked for."""

    events: tuple[EventValue, ...]
    more: bool = False


class ReadCall(Struct, frozen=True, omit_defaults=True):
    """Reads events of one agent. The answer may be shorter than what was asked for."""

    agent: AgentId
    first: int = 1
    last: int | None = None
    limit: int | None = None
    backward: bool = False


class FactsCall(Struct, frozen=True):
    """Reads what lists show of one agent."""

    agent: AgentId


class ListCall(Struct, frozen=True, omit_defaults=True):
    """Reads a page of agents."""

    after: AgentSummary | None = None
    limit: int = 100
    parent: AgentId | None = None
    status: str | None = None
    owner: str = ""
    label: str = ""
    order: Order = "created"


class ConversationsCall(Struct, frozen=True, omit_defaults=True):
    """Reads a page of the root agents of a folder."""

    folder: str
    after: AgentSummary | None = None
    limit: int = 100
    status: str | None = None


class WorkingCall(Struct, frozen=True, omit_defaults=True):
    """Reads a page of the agents that have work to do."""

    after: AgentId | None = None
    limit: int = 100


class FindCall(Struct, frozen=True, omit_defaults=True):
    """Finds agents by an id, a name or the start of an id."""

    name: str
    limit: int = 10


class AncestorsCall(Struct, frozen=True):
    """Reads the parents of an agent up to the root."""

    agent: AgentId


class DescendantsCall(Struct, frozen=True):
    """Reads the children of an agent, and theirs."""

    agent: AgentId


class FamilyCall(Struct, frozen=True):
    """Reads the root of an agent and all that descend from it."""

    agent: AgentId


class EndCall(Struct, frozen=True):
    """Reads the cursor after all events of the space."""


class SearchCall(Struct, frozen=True, omit_defaults=True):
    """Searches everything said."""

    query: str
    agents: tuple[AgentId, ...] | None = None
    limit: int = 20
    offset: int = 0


class ReceiptCall(Struct, frozen=True):
    """Reads the first answer to a command."""

    command: CommandId


class SnapshotCall(Struct, frozen=True, omit_defaults=True):
    """Reads a stored state."""

    agent: AgentId
    schema: str
    at: int | None = None


LogCall = (
    ReadCall
    | FactsCall
    | ListCall
    | ConversationsCall
    | WorkingCall
    | FindCall
    | AncestorsCall
    | DescendantsCall
    | FamilyCall
    | EndCall
    | SearchCall
    | ReceiptCall
    | SnapshotCall
)

CALLS: dict[str, tuple[type[LogCall], object]] = {
    "read": (ReadCall, EventsPage),
    "facts": (FactsCall, AgentSummary | None),
    "agents": (ListCall, list[AgentSummary]),
    "conversations": (ConversationsCall, list[AgentSummary]),
    "working": (WorkingCall, list[AgentSummary]),
    "find": (FindCall, list[AgentSummary]),
    "ancestors": (AncestorsCall, list[AgentId]),
    "descendants": (DescendantsCall, list[AgentId]),
    "family": (FamilyCall, list[AgentSummary]),
    "end": (EndCall, Cursor),
    "search": (SearchCall, list[SearchHit]),
    "receipt": (ReceiptCall, Receipt | None),
    "snapshot": (SnapshotCall, Snapshot | None),
}
"""The calls by the name in their address: their arguments, and the type of their answer."""
