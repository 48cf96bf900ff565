"""The envelope of an event: whose log, which place in it, who did it, when, by which command."""

from datetime import UTC, datetime
from typing import Literal

from msgspec import Struct

from sapwood.core.events.agent import AgentEvent
from sapwood.core.events.context import ContextEvent
from sapwood.core.events.files import FilesEvent
from sapwood.core.events.mail import MailEvent
from sapwood.core.events.turn import TurnEvent
from sapwood.core.events.unreadable import UnreadableEvent
from sapwood.core.ids import AgentId, CommandId, EventRef

__all__ = ["HUMAN", "SYSTEM", "Actor", "Event", "Recorded", "Role"]

Event = AgentEvent | TurnEvent | ContextEvent | FilesEvent | MailEvent | UnreadableEvent

Role = Literal["human", "model", "system"]


class Actor(Struct, frozen=True, omit_defaults=True, gc=False):
    """Who acted: a person (named where there is an identity), a model, or the system itself.

    >>> print(Actor("human", "ada"))
    human:ada
    """

    role: Role
    name: str = ""

    def __str__(self) -> str:
        return f"{self.role}:{self.name}" if self.name else self.role

    @staticmethod
    def parse(text: str) -> "Actor":
        """The actor that `str` wrote."""
        role, _, name = text.partition(":")
        if role == "human" or role == "model" or role == "system":
            return Actor(role, name)
        raise ValueError(f"no such actor: {text!r}")


HUMAN = Actor("human")
SYSTEM = Actor("system")


class Recorded(Struct, frozen=True, gc=False):
    """One fact in the log of `agent`. Versions count from 1 without gaps.

    `at` is in microseconds since 1970 (UTC).

    >>> import sapwood
    >>> with sapwood.open_sync(":memory:") as wood:
    ...     agent = wood.start("demo")
    ...     agent.record("What is 6 x 7?", "42")
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
        """Where this event stands."""
        return EventRef(self.agent, self.version)

    @property
    def kind(self) -> str:
        """The event's kind, such as `turn.started`."""
        return self.event.kind

    @property
    def when(self) -> datetime:
        """The moment it was recorded."""
        return datetime.fromtimestamp(self.at / 1_000_000, UTC)
