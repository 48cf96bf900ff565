"""What a client asks of the log of a server: one class for each call, with the type of its answer.

Client and server both use this table, so there is one description of the calls.
"""

from typing import Literal

from msgspec import Struct

from sapwood.core.ids import AgentId, CommandId
from sapwood.core.log_values import AgentSummary, Cursor, Order, Receipt, SearchHit, Snapshot
from sapwood_server.client.event_values import EventValue

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
