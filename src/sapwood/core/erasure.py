"""Values about erasure: the record that stays, what must go outside of the log, and legal holds.

The record of an erasure has counts and no content: neither ids nor names of what was erased.

Takes the words of an erased agent out of the events of other agents.

The log of another agent has words of an erased one in three forms: its mail, as it arrived and as
it was put into prompts and tool results; its turns, where they were loaded as a quotation; and
turns of others that have its mail, where those were loaded. These are replaced. What another agent
wrote in its own words stays.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, Literal, TypeVar

import msgspec
from msgspec import Struct

from sapwood.core.events import (
    AgentStarted,
    ContextLoaded,
    Event,
    MailReceived,
    Recorded,
    SessionSynced,
    TurnCompleted,
    TurnFailed,
    TurnInterrupted,
    TurnRecorded,
    UnreadableEvent,
)
from sapwood.core.ids import AgentId, EventRef, Space
from sapwood.core.tags import Tags
from sapwood.core.text_size import texts_in

ERASED = "[erased]"
"""Stands where a text of an erased conversation was in the log of another one."""

ARCHIVE = "sapwood.archive"
"""The metadata entry of an agent that stands for an archived one: the address of its object."""

ARCHIVE_SOURCES = "sapwood.archive.sources"
"""The metadata entry of such an agent with a list of others of whom the archive has words.

It is the label of those that have the entry too: lists find them by it.
"""


def archive_in(tags: Tags | None) -> str:
    """The address of the archive for which an agent with these tags stands; empty if none."""
    entries = tags.metadata if tags is not None else ()
    return next((entry.value for entry in entries if entry.name == ARCHIVE), "")


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
    """Where an agent has data outside of the log: sessions by program, and archives.

    `restored` are archives of which the log has everything again.
    """

    sessions: tuple[tuple[str, str], ...] = ()
    archives: tuple[str, ...] = ()
    restored: tuple[str, ...] = ()


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


OUTSIDE_KINDS = (AgentStarted.kind, SessionSynced.kind)
"""The kinds of events that say where an agent has data outside of the log."""


def outside_data(events: Iterable[Recorded]) -> OutsideData:
    """Where the agent with these events has data outside of the log."""
    sessions: dict[tuple[str, str], None] = {}
    archives: list[str] = []
    for recorded in events:
        event = recorded.event
        if isinstance(event, AgentStarted):
            if address := archive_in(event.tags):
                archives.append(address)
            if event.origin is not None:
                sessions[event.origin.source, event.origin.session] = None
        elif isinstance(event, SessionSynced):
            sessions[event.session.program, event.session.id] = None
    return OutsideData(tuple(sessions), tuple(archives))


T = TypeVar("T")

MAX_TURN = 10_000
"""The most events of a turn that are read to find mail in it."""


class ErasureReach:
    """The agents whose logs may have words of an erased agent, or who go on from such a log.

    These are the receivers of its mail and those who quoted its turns, their descendants, and those
    who quoted turns of all these. `quotations` are pairs: who quoted whom.
    """

    def __init__(self, erased: AgentId, quotations: Iterable[tuple[AgentId, AgentId]]) -> None:
        self._erased = erased
        self._quoting: dict[AgentId, set[AgentId]] = {}
        for agent, source in quotations:
            self._quoting.setdefault(source, set()).add(agent)
        self.agents: set[AgentId] = set()

    def begin(self, receivers: Iterable[AgentId]) -> set[AgentId]:
        """Takes the receivers of its mail. Returns the agents whose children `add` needs next."""
        return self.add({*receivers, *self._quoting.get(self._erased, ())})

    def add(self, agents: Iterable[AgentId]) -> set[AgentId]:
        """Takes more agents. Returns those whose children it needs next; none at the end."""
        new = {*agents} - self.agents - {self._erased}
        self.agents |= new
        quoting = {each for agent in new for each in self._quoting.get(agent, ())}
        return new | self.add(quoting) if quoting - self.agents else new


def without_agent(event: Event, erased: AgentId, quoted: Collection[EventRef] = ()) -> Event | None:
    """The event without words of the erased agent; None if it has none.

    `quoted` are the turns of others that have its mail.
    """
    if isinstance(event, UnreadableEvent):
        return None
    if isinstance(event, MailReceived):
        if event.sender != erased or event.text == ERASED:
            return None
        return msgspec.structs.replace(event, text=ERASED)
    if isinstance(event, ContextLoaded) and (
        event.source.agent == erased or event.source in quoted
    ):
        return None if event.text == ERASED else msgspec.structs.replace(event, text=ERASED)
    return _replaced(event, erased)


def quoted_turns(events: Iterable[Recorded]) -> set[EventRef]:
    """The places of the turns that an agent with these events has loaded as a quotation."""
    return {each.event.source for each in events if isinstance(each.event, ContextLoaded)}


def turn_has_mail(events: Iterable[Recorded], sender: AgentId) -> bool:
    """Whether a turn has mail of this agent, replaced or not. `events` begin with the turn."""
    for recorded in events:
        if _has_mail(recorded.event, sender):
            return True
        if isinstance(recorded.event, _TURN_ENDS):
            return False
    return False


def mail_senders(events: Iterable[Recorded]) -> set[AgentId]:
    """The agents whose mail is in these events: as it arrived, or in prompts and results."""
    found: set[AgentId] = set()
    for recorded in events:
        if isinstance(recorded.event, MailReceived):
            found.add(AgentId(recorded.event.sender))
        for text in texts_in(recorded.event):
            if isinstance(text, str) and "[Mail from agent " in text:
                found |= {AgentId(sender) for sender in _SENDER.findall(text)}
        found |= set(_noted_senders(msgspec.to_builtins(recorded.event)))
    return found


def without_mail(value: T, senders: Iterable[AgentId]) -> T:
    """A copy of a command without mail of these erased agents, framed or in notes."""
    for sender in senders:
        if _has_mail(value, sender):
            value = _replaced(value, sender) or value
    return value


def text_without_agent(text: str, erased: AgentId) -> str:
    """The text with framed mail of the erased agent replaced."""
    return _text_replacer(erased)(text)


_TURN_ENDS = TurnCompleted | TurnInterrupted | TurnFailed | TurnRecorded


_SENDER = re.compile(r"\[Mail from agent (.+?)\. ")


def _noted_senders(value: Any) -> Iterator[AgentId]:
    match value:
        case {"type": "note", "origin": "mail", "source": str(source)}:
            yield AgentId(source)
        case dict():
            for item in value.values():  # pyright: ignore[reportUnknownVariableType]
                yield from _noted_senders(item)
        case list() | tuple():
            for item in value:  # pyright: ignore[reportUnknownVariableType]
                yield from _noted_senders(item)
        case _:
            return


def _label(sender: AgentId) -> str:
    return f"[Mail from agent {sender}."


def _has_mail(value: object, sender: AgentId) -> bool:
    """Whether a value has mail of this agent: framed in a text, or as a note, which names it."""
    label = _label(sender)
    texts = [text for text in texts_in(value) if isinstance(text, str)]
    if any(label in text for text in texts):
        return True
    return sender in texts and _has_note(msgspec.to_builtins(value), sender)


def _has_note(value: Any, sender: AgentId) -> bool:
    match value:
        case {"type": "note", "origin": "mail", "source": source} if source == sender:
            return True
        case dict():
            return any(_has_note(item, sender) for item in value.values())  # pyright: ignore[reportUnknownVariableType]
        case list() | tuple():
            return any(_has_note(item, sender) for item in value)  # pyright: ignore[reportUnknownVariableType]
        case _:
            return False


def _replaced(value: T, erased: AgentId) -> T | None:
    """A copy of the value with framed mail and notes of the agent replaced; None if it has none."""
    plain = msgspec.to_builtins(value)
    replace = _text_replacer(erased)
    new = _walk(plain, erased, replace)
    return None if new == plain else msgspec.convert(new, type(value))


def _walk(value: Any, erased: AgentId, replace: Callable[[str], str]) -> Any:
    match value:
        case str():
            return replace(value)
        case {"type": "note", "origin": "mail", "source": source} if source == erased:
            return {**value, "text": ERASED}
        case dict():
            return {key: _walk(item, erased, replace) for key, item in value.items()}  # pyright: ignore[reportUnknownVariableType]
        case tuple():
            return tuple([_walk(item, erased, replace) for item in value])  # pyright: ignore[reportUnknownVariableType]
        case list():
            return [_walk(item, erased, replace) for item in value]  # pyright: ignore[reportUnknownVariableType]
        case _:
            return value


def _text_replacer(erased: AgentId) -> Callable[[str], str]:
    """Replaces framed mail of the agent within a text: from its label to the end that it names."""
    fenced = re.compile(
        rf"(?P<label>\[Mail from agent {re.escape(erased)}\. [^\[\]]*This text ends at "
        r"\[end (?P<fence>[^\]]+)\]\.\]\n).*?(?P<end>\n\[end (?P=fence)\])",
        re.DOTALL,
    )

    def replaced(text: str) -> str:
        if erased not in text:
            return text
        return fenced.sub(rf"\g<label>{ERASED}\g<end>", text)

    return replaced
