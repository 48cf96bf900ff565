"""What `decide` is shown and what it answers: scenes, drafts, decisions."""

from collections.abc import Mapping

from msgspec import Struct

from sapwood.core.commands import Given
from sapwood.core.counting import Counter
from sapwood.core.events import Event, Recorded
from sapwood.core.evolve import evolve
from sapwood.core.ids import AgentId
from sapwood.core.live import Live, follow
from sapwood.core.refusals import Refusal
from sapwood.core.state import State

__all__ = ["Accepted", "Change", "Decision", "Draft", "Refused", "Scene"]


class Scene(Struct, frozen=True):
    """Everything a decision may look at.

    `state` and `live` are those of the agent that the command names. `others` are the further
    agents that it touches; for a kill, the descendants, with the target's `ancestors`.
    """

    state: State
    live: Live
    counter: Counter
    others: Mapping[AgentId, State] = {}
    ancestors: frozenset[AgentId] = frozenset()


class Change(Struct, frozen=True):
    """New events for one agent's log, and where known, the state and path they lead to."""

    agent: AgentId
    events: tuple[Event, ...]
    state: State | None = None
    live: Live | None = None


class Accepted(Struct, frozen=True):
    """What follows from a command, and the line to say to whoever gave it.

    No changes means that all was as asked already.
    """

    changes: tuple[Change, ...]
    says: str = ""


Decision = Accepted | Refusal


class Refused(Exception):
    """Carries a refusal out of nested guards. Never leaves `decide`."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.sentence)
        self.refusal = refusal


class Draft:
    """Events being decided for one agent, with the state they lead to.

    `live` is None once the context jumped to where nothing has been read.
    """

    def __init__(self, state: State, live: Live | None, given: Given) -> None:
        self.state = state
        self.live = live
        self.events: list[Event] = []
        self._given = given

    def add(self, event: Event) -> None:
        """Takes the event in."""
        version = self.state.version + 1
        given = self._given
        recorded = Recorded(self.state.agent, version, event, given.at, given.actor, given.id)
        self.state = evolve(self.state, recorded)
        if self.live is not None:
            self.live = follow(self.live, recorded, self.state.context)
        self.events.append(event)

    @property
    def next_version(self) -> int:
        """Where the next event will stand."""
        return self.state.version + 1

    def change(self) -> Change:
        """The events as a change."""
        return Change(self.state.agent, tuple(self.events), self.state, self.live)

    def accepted(self, says: str = "") -> Accepted:
        """The decision, when this agent is all it touches."""
        return Accepted((self.change(),) if self.events else (), says)
