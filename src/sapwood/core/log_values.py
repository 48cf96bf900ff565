"""The values that a log takes and returns: commits, receipts, snapshots, summaries, search hits.

The interface of the log is `sapwood.turns.log.Log`; `sapwood.store` implements it.
"""

from collections.abc import Callable, Sequence
from typing import Literal, TypeVar

from msgspec import Struct, field

from sapwood.core.errors import LogError as LogError
from sapwood.core.errors import LogUnavailable as LogUnavailable
from sapwood.core.errors import VersionConflict as VersionConflict
from sapwood.core.events import Recorded
from sapwood.core.ids import AgentId, CommandId, EventRef
from sapwood.core.state import State
from sapwood.core.tags import Tags
from sapwood.core.token_count import Count

T = TypeVar("T", int, tuple[int, int])

AvailabilityListener = Callable[[str], None]
"""Called with the reason when a database does not answer, and with "" when it answers again."""


DECLARATIONS = frozenset({"project", "session"})
"""The sources of agents that hold what was declared for a project or a session.

They have no conversation, and lists leave them out.
"""


class AgentSummary(Struct, frozen=True, omit_defaults=True):
    """What lists show of an agent without opening it. Updated at every commit.

    PostgreSQL indexes read `folder`, `updated`, `working` and `tags` by these names: never rename
    them, and leave `tags` the last field.
    `tokens` is the size of the live history, and `exact` whether it was counted or estimated.
    `working`: a turn is open, so the agent has work to do. `asking`: its tool call waits for
    approval. `worktree` and `branch` are those of its workspace. `source` and `session` are the
    program of an imported agent and its id there. `tags` are its owner, labels and metadata; None
    if none were ever given.

    >>> AgentSummary(AgentId("abc123"), version=7, name="demo", unread=2).status
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
    asking: bool = False
    worktree: str = ""
    branch: str = ""
    tags: Tags | None = None

    @property
    def owner(self) -> str:
        """To whom the agent belongs; empty if nobody was named."""
        return self.tags.owner if self.tags else ""

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the agent, sorted."""
        return self.tags.labels if self.tags else ()

    @property
    def metadata(self) -> dict[str, str]:
        """The metadata of the agent."""
        return {entry.name: entry.value for entry in self.tags.metadata} if self.tags else {}


Order = Literal["created", "updated"]
"""The order of a list: by the start of the agents or by their last event, newest first."""


class Where(Struct, frozen=True, omit_defaults=True):
    """Which agents a list shows: all whose values are equal to those that are given.

    >>> import sapwood
    >>> with sapwood.open_sync(":memory:") as db:
    ...     _ = db.start(id="a", owner="user-42", labels=["vip"])
    ...     _ = db.start(id="b", owner="user-7")
    ...     [each.agent for each in db.agents(where=sapwood.Where(owner="user-42"))]
    ['a']
    """

    owner: str = ""
    label: str = ""
    parent: AgentId | None = None
    status: Literal["running", "archived", "killed"] | None = None


class Append(Struct, frozen=True):
    """New events for one agent, whose log must be at version `expected` (0: it does not exist).

    `summary` is that of the agent after these events. If `ends_words`, the words of the reply that
    was arriving are deleted. `words` is then the command of the last of them that the sender knows,
    '' if there were none, or None if it does not matter.
    """

    agent: AgentId
    expected: int
    events: tuple[Recorded, ...]
    summary: AgentSummary
    ends_words: bool = False
    words: CommandId | None = None

    def __post_init__(self) -> None:
        end = self.expected + len(self.events)
        places = [(event.agent, event.version) for event in self.events]
        if places != [(self.agent, version) for version in range(self.expected + 1, end + 1)]:
            raise ValueError(f"events to append to '{self.agent}' do not follow {self.expected}")
        if (self.summary.agent, self.summary.version) != (self.agent, end):
            raise ValueError(f"the summary to append to '{self.agent}' is not of version {end}")


class Receipt(Struct, frozen=True, omit_defaults=True):
    """The stored answer to a command. Sending the command again returns it and changes nothing.

    `digest` is a hash of what was asked for: the same id with another digest is refused. It is
    empty in receipts of versions before it, and where the content was erased.
    """

    command: CommandId
    message: str = field(default="", name="says")
    events: tuple[EventRef, ...] = ()
    digest: str = ""


class Commit(Struct, frozen=True):
    """Appends to several logs and the receipt of their command, stored together or not at all.

    `also` are the receipts of further commands that are stored in the same commit.
    """

    appends: tuple[Append, ...]
    receipt: Receipt
    also: tuple[Receipt, ...] = ()

    @property
    def receipts(self) -> tuple[Receipt, ...]:
        """The receipts of all commands of this commit."""
        return (self.receipt, *self.also)


class Snapshot(Struct, frozen=True):
    """A stored state, so that older events are not folded again. Deleting it only costs time.

    `schema` is the format of `data`; a snapshot with another schema is not used.
    """

    agent: AgentId
    version: int
    schema: str
    data: bytes


class Cursor(Struct, frozen=True, array_like=True, order=True):
    """A place in the order of the commits of a space: after its first `events` events.

    It says nothing about other spaces. Cursors that an earlier version returned have a `position`
    too; a log accepts them for the events that it had when it was upgraded.

    >>> Cursor() < Cursor(3) < Cursor(4)
    True
    """

    events: int = 0
    position: int = 0


def steps_with_gaps(places: Sequence[T], gaps: Sequence[T]) -> list[int]:
    """By how much each event raises the count of a cursor: one, and the erased ones before it.

    Both are in order. A place in both was erased after it was read, and counts once.

    >>> steps_with_gaps([3, 4, 9], [1, 2, 4, 6])
    [3, 1, 2]
    """
    known, steps, at = frozenset(places), list[int](), 0
    for place in places:
        start = at
        while at < len(gaps) and gaps[at] < place:
            at += 1
        steps.append(1 + sum(gap not in known for gap in gaps[start:at]))
    return steps


def unknown_cursor() -> LogError:
    """The error for a cursor at which the space has no event."""
    return LogError(
        "The cursor belongs to another space, or points to events that are not in this one. "
        "Nothing was read. To read from the beginning, omit the cursor."
    )


class TailedEvent(Struct, frozen=True):
    """An event of any agent of a space, and the cursor after it.

    >>> import sapwood
    >>> with sapwood.open_sync(":memory:") as db:
    ...     _ = db.start("demo")
    ...     next(db.tail()).recorded.kind
    'agent.started'
    """

    cursor: Cursor
    recorded: Recorded


class SearchHit(Struct, frozen=True):
    """A turn that was found, by its best sentence. A higher score is better.

    `ref` is the event with the sentence and `turn` the version of the event that began its turn.
    What is outside of turns, such as a note or mail, is a turn of its own here. `marks` are the
    ranges of the words that were found, in the `snippet`. `name` is that of the conversation, and
    `place` the turn as people name it, such as `3` or `NAME/3`, where the caller looked them up.

    >>> import sapwood
    >>> with sapwood.open_sync(":memory:") as db:
    ...     _ = db.start("demo").record("Remember the heron.", "I will.")
    ...     hit = db.search("heron")[0]
    ...     print(hit.snippet, hit.ref.version)
    Remember the heron. I will. 2
    """

    ref: EventRef
    kind: str
    at: int
    snippet: str
    score: float
    turn: int = 0
    marks: tuple[tuple[int, int], ...] = ()
    name: str = ""
    place: str = ""

    @property
    def shown_place(self) -> str:
        """The turn as faces show it; what is outside of turns has its place in the log."""
        if not self.place:
            return str(self.ref)
        return self.place if "/" in self.place else f"#{self.place}"

    @property
    def source(self) -> str:
        """What has the words, if people and models did not say them in a turn.

        >>> SearchHit(EventRef(AgentId("a"), 5), "tool.finished", 0, "heron", 1.0, place="3").source
        'tool output'
        """
        if self.kind == "tool.finished":
            return "tool output"
        kind = self.kind.partition(".")[0]
        return "" if self.place or kind == "turn" else _SOURCES.get(self.kind, kind)


_SOURCES = {
    "agent.started": "name",
    "agent.renamed": "name",
    "context.summarized": "summary",
    "shell.ran": "command",
    "job.ended": "job output",
    "todo.written": "to-do list",
    "prompt.queued": "queued message",
}
"""What is found outside of turns, where the first word of its kind is not what people call it."""


def summary_of(state: State, history: Count) -> AgentSummary:
    """The summary of an agent for lists. `history` is the size of its live history."""
    return AgentSummary(
        agent=state.agent,
        version=state.version,
        status="running" if state.status == "none" else state.status,
        name=state.name,
        parent=state.parent,
        model=state.settings.model,
        folder=state.workspace.folder,
        created=state.created,
        updated=state.updated,
        tokens=history.tokens,
        exact=history.exact,
        unread=len(state.inbox),
        working=state.open is not None and state.status == "running",
        source=state.origin.source if state.origin else "",
        session=state.origin.session if state.origin else "",
        asking=state.open is not None and bool(state.open.questions) and state.status == "running",
        worktree=state.workspace.worktree,
        branch=state.workspace.branch,
        tags=state.tags,
    )
