"""Values about erasure: the record that stays, what must go outside of the log, and legal holds.

The record of an erasure has counts and no content: neither ids nor names of what was erased.
"""

from collections.abc import Iterable, Mapping
from typing import Literal

from msgspec import Struct

from sapwood.core.events import AgentStarted, Recorded, SessionAssumed
from sapwood.core.ids import AgentId, Space

ERASED = "[erased]"
"""Stands where a text of an erased conversation was in the log of another one."""

ARCHIVE = "sapwood.archive"
"""The metadata entry of an agent that stands for an archived one: the address of its object."""

ErasureScope = Literal["conversation", "owner", "space", "retention", "archive"]
"""What was erased. An `archive` moves a conversation to object storage and loses nothing of it."""
HoldScope = Literal["agent", "owner", "space"]


Senders = Mapping[AgentId, frozenset[AgentId]]
"""Agents, and to whom each of them sent mail."""


class Erasure(Struct, frozen=True, omit_defaults=True):
    """The record of an erasure: when, by whom, of what kind, and how much.

    `contents` counts long texts that nothing else referred to, and `rewritten` the events of other
    conversations in which mail or quotations were replaced. `finished` is 0 until nothing is left;
    both times are in microseconds since 1970.

    >>> Erasure("k3h7", at=0, by="human:ada", scope="conversation", agents=2).finished
    0
    """

    id: str
    at: int
    by: str
    scope: ErasureScope
    agents: int = 0
    events: int = 0
    contents: int = 0
    rewritten: int = 0
    finished: int = 0


class ArchivedConversation(Struct, frozen=True):
    """An archived conversation: the address of its object, its size and what it has.

    >>> ArchivedConversation("file:///archive/local/chat-42.jsonl.gz", 512, 1, 7).agents
    1
    """

    address: str
    bytes: int
    agents: int
    events: int


class OutsideData(Struct, frozen=True, omit_defaults=True):
    """Where an agent has data outside of the log: folders, sessions by program, archives."""

    folders: tuple[str, ...] = ()
    sessions: tuple[tuple[str, str], ...] = ()
    archives: tuple[str, ...] = ()


class ErasureItem(Struct, frozen=True):
    """One agent of an unfinished erasure. `deleted`: the log does not have it any more."""

    agent: AgentId
    deleted: bool = False
    outside: OutsideData = OutsideData()


class UnfinishedErasure(Struct, frozen=True):
    """An erasure that is not finished, its space and its agents.

    It has no agents if all of it is deleted and only the raw files may still have it.
    """

    space: Space
    record: Erasure
    items: tuple[ErasureItem, ...] = ()


class Hold(Struct, frozen=True, omit_defaults=True):
    """A legal hold: what it covers cannot be erased until it is released.

    `subject` is the id of an agent, whose whole conversation it covers, or an owner; empty for the
    space. A released hold stays in the list.

    >>> Hold("k3h7", at=0, by="human:ada", scope="agent", subject="chat-42").released
    0
    """

    id: str
    at: int
    by: str
    scope: HoldScope
    subject: str = ""
    reason: str = ""
    released: int = 0
    released_by: str = ""


OUTSIDE_KINDS = (AgentStarted.kind, SessionAssumed.kind)
"""The kinds of events that say where an agent has data outside of the log."""


def outside_data(events: Iterable[Recorded]) -> OutsideData:
    """Where the agent with these events has data outside of the log."""
    folders: dict[str, None] = {}
    sessions: dict[tuple[str, str], None] = {}
    archives: list[str] = []
    for recorded in events:
        event = recorded.event
        if isinstance(event, AgentStarted):
            places = (event.workspace.folder, event.workspace.worktree)
            folders.update(dict.fromkeys(place for place in places if place))
            entries = event.tags.metadata if event.tags is not None else ()
            archives += [each.value for each in entries if each.name == ARCHIVE]
            if event.origin is not None:
                sessions[event.origin.source, event.origin.session] = None
        elif isinstance(event, SessionAssumed):
            sessions[event.session.program, event.session.id] = None
    return OutsideData(tuple(folders), tuple(sessions), tuple(archives))
