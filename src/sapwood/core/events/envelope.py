"""The envelope of an event: agent, version, time, actor and command; and unreadable events."""

from datetime import UTC, datetime
from typing import Literal

from msgspec import Struct

from sapwood.core.events.agent import AgentEvent, MailEvent, SessionEvent
from sapwood.core.events.context import ContextEvent, FilesEvent
from sapwood.core.events.turn import TurnEvent
from sapwood.core.ids import AgentId, CommandId, EventRef


class UnreadableEvent(Struct, frozen=True, gc=False):
    """Stands for an event that cannot be read: a newer Sapwood wrote it, or it is damaged.

    It keeps its place in the log, and reading continues after it.
    `kind` and `data` are as they were stored, and `reason` is why they cannot be read. `newer`: the
    kind is unknown, and an upgrade of Sapwood makes the event readable.

    >>> UnreadableEvent("turn.dreamt", b"{}", "its kind is unknown", newer=True).kind
    'turn.dreamt'
    """

    kind: str
    data: bytes
    reason: str
    newer: bool = False


Event = (
    AgentEvent | TurnEvent | ContextEvent | FilesEvent | MailEvent | SessionEvent | UnreadableEvent
)

Role = Literal["human", "model", "system"]


_HOOK = "hook "


class Actor(Struct, frozen=True, omit_defaults=True, gc=False):
    """Who acted: a person, a model, or the system. `name` is the person's identity or the model.

    >>> print(Actor("human", "ada"))
    human:ada
    """

    role: Role
    name: str = ""

    def __str__(self) -> str:
        return f"{self.role}:{self.name}" if self.name else self.role

    @staticmethod
    def parse(text: str) -> "Actor":
        """Reads what `str(actor)` gives. Raises ValueError for an unknown role."""
        role, _, name = text.partition(":")
        if role == "human" or role == "model" or role == "system":
            return Actor(role, name)
        raise ValueError(f"unknown actor: {text!r}")

    @property
    def hook(self) -> str:
        """The hook that acted, as a heading says it; empty if none did.

        >>> Actor.of_hook("format").hook
        'hook format'
        """
        is_hook = self.role == "system" and self.name.startswith(_HOOK)
        return self.name if is_hook else ""

    @staticmethod
    def of_hook(name: str) -> "Actor":
        """The hook of this name."""
        return Actor("system", f"{_HOOK}{name}")


HUMAN = Actor("human")
SYSTEM = Actor("system")


class Recorded(Struct, frozen=True, gc=False):
    """One event in the log of `agent`. Versions count from 1 without gaps.

    `at` is in microseconds since 1970 (UTC).

    >>> import sapwood
    >>> with sapwood.open_sync(":memory:") as db:
    ...     agent = db.start("demo")
    ...     _ = agent.record("What is 6 x 7?", "42")
    ...     for recorded in agent.events():
    ...         print(recorded.version, recorded.kind, recorded.actor)
    1 agent.started human
    2 turn.recorded human
    """

    agent: AgentId
    version: int
    event: Event
    at: int
    actor: Actor
    command: CommandId

    @property
    def ref(self) -> EventRef:
        """The place of this event."""
        return EventRef(self.agent, self.version)

    @property
    def kind(self) -> str:
        """The event's kind, such as `turn.started`."""
        return self.event.kind

    @property
    def when(self) -> datetime:
        """The time at which it was recorded."""
        return datetime.fromtimestamp(self.at / 1_000_000, UTC)
