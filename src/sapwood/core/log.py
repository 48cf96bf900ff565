"""What goes into a log and comes out of it: commits, receipts, snapshots, facts, hits.

Values only. How they are kept is the business of `sapwood.store`; who asks for them, of
`sapwood.runtime`, where the interface stands.
"""

from typing import Literal

from msgspec import Struct

from sapwood.core.errors import LogAway, LogError, VersionConflict
from sapwood.core.events import Recorded
from sapwood.core.ids import AgentId, CommandId, EventRef

__all__ = [
    "Append",
    "Commit",
    "Cursor",
    "Facts",
    "Hit",
    "LogAway",
    "LogError",
    "Receipt",
    "Snapshot",
    "Tailed",
    "VersionConflict",
]


class Facts(Struct, frozen=True, omit_defaults=True):
    """What a list shows of an agent without opening it. Derived from its log at every commit.

    `tokens` is the size of the live history and `exact` whether it was counted or estimated.
    `working` says that a turn is open: the agent has work to do. An imported one has the `source`
    it comes from and the id of its `session` there.

    >>> Facts(AgentId("abc123"), version=7, name="demo", unread=2).status
    'running'
    """

    agent: AgentId
    version: int
    status: Literal["running", "archived", "killed"] = "running"
    name: str = ""
    parent: AgentId | None = None
    model: str = ""
    folder: str = ""
    created: int = 0
    updated: int = 0
    tokens: int = 0
    exact: bool = False
    unread: int = 0
    working: bool = False
    source: str = ""
    session: str = ""


class Append(Struct, frozen=True):
    """New events for one log, which must be at version `expected` now (0: it must not exist)."""

    agent: AgentId
    expected: int
    events: tuple[Recorded, ...]
    facts: Facts

    def __post_init__(self) -> None:
        end = self.expected + len(self.events)
        places = [(event.agent, event.version) for event in self.events]
        if places != [(self.agent, version) for version in range(self.expected + 1, end + 1)]:
            raise ValueError(f"events to append to '{self.agent}' do not follow {self.expected}")
        if (self.facts.agent, self.facts.version) != (self.agent, end):
            raise ValueError(f"facts to append to '{self.agent}' are not of version {end}")


class Receipt(Struct, frozen=True, omit_defaults=True):
    """The first answer to a command; giving the command again returns it and changes nothing."""

    command: CommandId
    says: str = ""
    events: tuple[EventRef, ...] = ()


class Commit(Struct, frozen=True):
    """Appends to several logs and the receipt of the command behind them: all of it or nothing.

    `also` are receipts of further commands that were carried out together with it.
    """

    appends: tuple[Append, ...]
    receipt: Receipt
    also: tuple[Receipt, ...] = ()

    @property
    def receipts(self) -> tuple[Receipt, ...]:
        """The receipts of all commands behind it."""
        return (self.receipt, *self.also)


class Snapshot(Struct, frozen=True):
    """A fold that need not be repeated. A cache: deleting it loses time, never truth.

    `schema` names the layout of `data`; a snapshot of another schema is as good as none.
    """

    agent: AgentId
    version: int
    schema: str
    data: bytes


class Cursor(Struct, frozen=True, array_like=True, order=True):
    """A place in the order in which the commits of a space became visible.

    >>> Cursor(3, 1) < Cursor(3, 2) < Cursor(4)
    True
    """

    transaction: int = 0
    position: int = 0


class Tailed(Struct, frozen=True):
    """An event of any agent of a space, and the cursor to go on from after it.

    >>> import sapwood
    >>> with sapwood.open_sync(":memory:") as wood:
    ...     _ = wood.start("demo")
    ...     next(wood.tail()).recorded.kind
    'agent.started'
    """

    cursor: Cursor
    recorded: Recorded


class Hit(Struct, frozen=True):
    """A place where searched words stand. A higher score is better.

    >>> import sapwood
    >>> with sapwood.open_sync(":memory:") as wood:
    ...     wood.start("demo").record("Remember the heron.", "I will.")
    ...     hit = wood.search("heron")[0]
    ...     print(hit.snippet, hit.ref.version)
    Remember the heron. I will. 2
    """

    ref: EventRef
    kind: str
    at: int
    snippet: str
    score: float
