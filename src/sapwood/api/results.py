"""What the methods of the API that change something return: typed values with a sentence each."""

from msgspec import Struct

from sapwood.core.ids import AgentId, EventRef
from sapwood.core.settings import Settings
from sapwood.core.state import UnreadMail
from sapwood.core.token_count import Count


class Result(Struct, frozen=True, kw_only=True):
    """What a method has changed: `message` is the sentence for a person, also `str(result)`.

    `events` are the places of the new events; there are none if nothing had to be changed. A
    command that was repeated with the same `command_id` has those of the first time.

    >>> import sapwood
    >>> with sapwood.open_sync(":memory:") as db:
    ...     done = db.start(id="demo").pin("style", "Be brief.")
    ...     print(done, [str(place) for place in done.events])
    Pinned 'style'. ['demo:2']
    """

    message: str
    events: tuple[EventRef, ...] = ()

    def __str__(self) -> str:
        return self.message


class Marked(Result, frozen=True, kw_only=True):
    """A mark was set: `name` is empty for an unnamed one, `version` is its place in the log.

    >>> import sapwood
    >>> with sapwood.open_sync(":memory:") as db:
    ...     marked = db.start("demo").mark("START")
    ...     print(marked.name, marked.version, marked)
    START 2 Marked 'START'.
    """

    name: str
    version: int


class ContextChanged(Result, frozen=True, kw_only=True):
    """The context was cleared, rewound, undone or redone: it has so many turns and tokens now.

    >>> import sapwood
    >>> with sapwood.open_sync(":memory:") as db:
    ...     agent = db.start("demo")
    ...     _ = agent.record("One?", "1")
    ...     _ = agent.record("Two?", "2")
    ...     done = agent.clear(keep=1)
    ...     print(done.turns, done.tokens.tokens > 0, done)
    1 True Kept the last turn; 1 turn removed from view.
    """

    turns: int
    tokens: Count


class HistoryCompacted(ContextChanged, frozen=True, kw_only=True):
    """The history was replaced by `summary`, whose check gave `score`; None if it has none."""

    summary: str
    score: float | None


class Configured(Result, frozen=True, kw_only=True):
    """All settings of the agent as they are now."""

    settings: Settings


class MailTaken(Result, frozen=True, kw_only=True):
    """The mail that was read, oldest first; `message` is its text as a model gets it."""

    letters: tuple[UnreadMail, ...]


class Killed(Result, frozen=True, kw_only=True):
    """The agents that were ended: this one and its descendants."""

    agents: tuple[AgentId, ...]


class Tagged(Result, frozen=True, kw_only=True):
    """The owner, the labels and the metadata that an agent has now."""

    owner: str
    labels: tuple[str, ...]
    metadata: dict[str, str]
