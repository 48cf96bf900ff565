"""The input and the result of `decide`: `DecisionInput`, `Draft`, `Decision`."""

from collections.abc import Mapping

from msgspec import Struct, structs

from sapwood.core.account import Account
from sapwood.core.commands import CommandMeta
from sapwood.core.events import Event, Recorded, TurnRecorded, TurnStarted
from sapwood.core.evolve import evolve
from sapwood.core.ids import AgentId
from sapwood.core.live_path import LivePath, follow
from sapwood.core.refusals import Refusal
from sapwood.core.state import State
from sapwood.core.token_count import Counter


class DecisionInput(Struct, frozen=True):
    """Everything that a decision can use.

    `state` and `live` belong to the agent that the command names. `others` are the other agents
    that the command changes. For a kill these are the descendants of the target, and `ancestors`
    are the target's ancestors. `account` is what the agents of one root have spent; None if the
    command spends and starts nothing. `since_mark` is for a fork from a mark that has left view:
    the turns after the mark. `can_sync`: the agent was imported from a program whose session can
    be brought to another history. `uncut` is for a command that restores what was dropped: the live
    path with the turns that are cut.
    """

    state: State
    live: LivePath
    counter: Counter
    others: Mapping[AgentId, State] = {}
    ancestors: frozenset[AgentId] = frozenset()
    account: Account | None = None
    since_mark: LivePath | None = None
    can_sync: bool = False
    uncut: LivePath | None = None


class Change(Struct, frozen=True):
    """New events for the log of one agent, and the state and live path after them, if known."""

    agent: AgentId
    events: tuple[Event, ...]
    state: State | None = None
    live: LivePath | None = None


class Accepted(Struct, frozen=True):
    """The changes that a command makes, and the message for its sender.

    `changes` is empty if everything is already as the command asks.
    """

    changes: tuple[Change, ...]
    message: str = ""


Decision = Accepted | Refusal


class Refused(Exception):
    """Carries a refusal from a guard to `decide`, which catches it and returns the refusal."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.sentence)
        self.refusal = refusal


class Draft:
    """The events decided so far for one agent, and its state after them.

    `live` is None after the context has moved to turns that were not loaded.
    """

    def __init__(self, state: State, live: LivePath | None, meta: CommandMeta) -> None:
        self.state = state
        self.live = live
        self.events: list[Event] = []
        self._meta = meta

    def add(self, event: Event) -> None:
        """Appends an event and applies it to `state` and `live`. A turn gets its number here."""
        if isinstance(event, TurnStarted | TurnRecorded):
            event = structs.replace(event, number=self.state.turns + 1)
        version = self.state.version + 1
        meta = self._meta
        recorded = Recorded(self.state.agent, version, event, meta.at, meta.actor, meta.id)
        self.state = evolve(self.state, recorded)
        if self.live is not None:
            self.live = follow(self.live, recorded, self.state.context)
        self.events.append(event)

    @property
    def nonce(self) -> str:
        """The random mark of the command, for the end of texts that enter the context."""
        return self._meta.nonce

    @property
    def next_version(self) -> int:
        """The version that the next event will have."""
        return self.state.version + 1

    def change(self) -> Change:
        """The events as a change."""
        return Change(self.state.agent, tuple(self.events), self.state, self.live)

    def accepted(self, message: str = "") -> Accepted:
        """The decision of a command that changes this agent only."""
        return Accepted((self.change(),) if self.events else (), message)


def accept(inputs: DecisionInput, meta: CommandMeta, event: Event, message: str = "") -> Accepted:
    """The decision of a command that leads to one event."""
    draft = Draft(inputs.state, inputs.live, meta)
    draft.add(event)
    return draft.accepted(message)
