"""The state of an agent: the result of folding its log with `evolve`.

Its size is bounded: it holds references to turns and no turn. So opening an agent with a million
events costs the same as opening one with ten.
"""

from typing import Literal

from msgspec import Struct

from sapwood.core import events
from sapwood.core.checkpoint import Destination
from sapwood.core.content import Note, Usage
from sapwood.core.context import ROOT, Context, Mark, Step
from sapwood.core.ids import AgentId, Origin, TranscriptRange, TurnRef
from sapwood.core.lease import Lease
from sapwood.core.model_calls import LastCall
from sapwood.core.plural import counted
from sapwood.core.program_session import SyncedSession
from sapwood.core.settings import Settings, Workspace
from sapwood.core.tags import Tags
from sapwood.core.token_count import Calibration, Count, show
from sapwood.core.turn_params import TurnParams

UNDO_DEPTH = 64
"""How many context commands can be undone."""

WINDOW_STEPS = 8
"""How many moves of the window can be undone."""

MARKS_KEPT = 256
"""The most marks of an agent; one more drops the oldest."""

QUEUE_LIMIT = 64
"""The most texts in the queue of an agent; one more is refused."""

JOB_LIMIT = 8
"""The most background commands of a conversation that run at once in one process."""

JOBS_KEPT = 8
"""How many background commands that have ended are kept in the state."""

TODO_LIMIT = 64
"""The most items of a to-do list; a longer one is refused."""

TODO_LENGTH = 500
"""The most characters of an item of a to-do list."""

PINS_LIMIT = 64
"""The most pins of an agent; one more is refused."""

WAITING_LIMIT = 256
"""The most unread letters and waiting notes of an agent; further mail is refused."""

FOCUS_LIMIT = 64
"""The most topics in focus; one more is refused."""

BACKGROUND_KEPT = 64
"""The most topics in the background; one more drops the oldest."""

ERASED_KEPT = 64
"""The most erased agents that a state names; one more drops the oldest."""

NOTES_LIMIT = 128
"""The most declared active notes; one more is refused."""

JUDGED_STRETCHES = 32
"""The most stretches that a judge's words are kept for; one more drops the oldest."""

JUDGED_SENTENCES = 96
"""The most sentences that a judge's words are kept for; one more drops the oldest."""

JUDGED_LENGTH = 400
"""The most characters of a judged sentence."""

Status = Literal["none", "running", "archived", "killed"]


class OpenQuestion(Struct, frozen=True, omit_defaults=True):
    """A question of a call that has no result: its id, its hash and the version of its event.

    `call` is the tool call that starts again after the answer; '' if only the process that asked
    can continue. `until` is when the call is denied without an answer; 0 is no limit. `answered` is
    the version of the answer; 0 while nobody has answered.
    """

    question: str
    hash: str
    asked: int
    call: str = ""
    until: int = 0
    answered: int = 0


class OpenTurn(Struct, frozen=True, omit_defaults=True):
    """What the state knows about the open turn.

    `calls` have no result yet; `started` are those of them that may have had effects. `asked` is
    the version of the last model call if it has no reply yet, `called` its model, and `estimate`
    its raw token count. `questions` wait for an answer, and `answered` are those that have one, of
    calls without a result. `native`: the rows of the turn in another program's transcript are
    known. `lease`: a program runs the turn itself. `params` are parameters of this turn alone.
    `actor` gave the prompt, and `trace` is their trace. `drops` are what its model asked to drop.
    """

    first: int
    parent: TurnRef | None
    calls: tuple[str, ...] = ()
    started: tuple[str, ...] = ()
    asked: int = 0
    estimate: int = 0
    called: str = ""
    deferred: events.ClearDeferred | None = None
    questions: tuple[OpenQuestion, ...] = ()
    answered: tuple[OpenQuestion, ...] = ()
    native: bool = False
    lease: Lease | None = None
    params: TurnParams | None = None
    trace: str = ""
    drops: tuple[events.DropDeferred, ...] = ()
    actor: events.Actor | None = None


_OF_GOAL = "goal-"
"""How the id of every command begins that opens a turn of a goal."""


class Goal(Struct, frozen=True, omit_defaults=True):
    """What the agent works on, as `SetGoal` describes it.

    `first` is the number of turns before it. `opened` counts the turns that it opened, `turn` is
    the first event of the newest one, and `used` is what they cost: prompts of the person that come
    in between are not part of it.
    """

    id: str
    text: str
    check: str = ""
    turns: int = 0
    tokens: int = 0
    cost: int = 0
    first: int = 0
    opened: int = 0
    turn: int = 0
    used: Usage = Usage(0)

    @property
    def next_command(self) -> str:
        """The id of the command that opens its next turn: given twice, it opens one."""
        return f"{_OF_GOAL}{self.id}-{self.opened}"

    @property
    def progress(self) -> str:
        """How much of its budget is used.

        >>> Goal("g1", "Make it.", turns=10, opened=2).progress
        '2 of 10 turns'
        >>> Goal("g1", "Make it.", cost=2_000_000, used=Usage(0, cost=250_000)).progress
        '$0.25 of $2'
        """
        if self.cost:
            return f"${self.used.cost / 1_000_000:.2f} of ${self.cost / 1_000_000:g}"
        if self.tokens:
            used = Count(self.used.input + self.used.output, exact=True)
            return f"{show(used)} of {show(Count(self.tokens, exact=True))} tokens"
        return f"{self.opened} of {counted(self.turns, 'turn')}"


def is_of_goal(command: str) -> bool:
    """Whether a command with this id opened a turn of a goal."""
    return command.startswith(_OF_GOAL)


class QueuedPrompt(Struct, frozen=True):
    """A text that waits for the end of the open turn, and its id."""

    entry: str
    text: str


class UnreadMail(Struct, frozen=True, omit_defaults=True):
    """Unread mail.

    >>> UnreadMail("m1", "The build is red.", sender="abc123").sender
    'abc123'
    """

    mail: str
    text: str
    sender: str = ""


class Focus(Struct, frozen=True):
    """A topic in focus, its priority (1 is the highest), and since when it is in focus."""

    topic: str
    priority: int
    since: int


class DeclaredNote(Struct, frozen=True, omit_defaults=True):
    """A note in force: its id is the version of its event, `by` who declared it.

    `about` is the question that an answer replaced.
    """

    id: int
    note: events.NoteKind
    text: str
    at: int
    by: events.Role = "human"
    about: str = ""


class Judgement(Struct, frozen=True, omit_defaults=True):
    """What judges said that still holds, the oldest first, and what all of them cost.

    `judge` is the one that was asked last, and `at` when.
    """

    judge: str = ""
    at: int = 0
    stretches: tuple[events.JudgedStretch, ...] = ()
    sentences: tuple[events.JudgedSentence, ...] = ()
    usage: Usage = Usage(0)


class Files(Struct, frozen=True):
    """The files at the newest event about them: its version, and their tree if it is known."""

    version: int
    tree: str


class Reverting(Struct, frozen=True):
    """An unfinished revert: the version of its start, and its destination."""

    started: int
    to: Destination


class Job(Struct, frozen=True, omit_defaults=True, gc=False):
    """A background command. `result` says how it ended; '' if no end was recorded."""

    job: int
    line: str
    holder: str
    result: str = ""
    output: str = ""


class State(Struct, frozen=True, omit_defaults=True):
    """An agent at one version of its log.

    `window_moved_at` is the version at which the window last moved `head`. `imported_until` is the
    place of the newest turn of an imported agent in its transcript. `tool_schema_tokens` is the raw
    token count of the tool schemas of the last model call. `calls` counts all model calls,
    `turns_without_human` the turns in a row that no human started, including those of the agents
    that led to this one. `named_by_prompt`: the name is the beginning of the first prompt.
    `session` is the session of the program that runs the agent's turns, or from which it was
    imported; a fork has none until its first turn there. `instructions` stand before the user's own
    system prompt; `instructions_head` is `head` at the last start of a turn: until it moves, they
    stay. `tags` are the owner, labels and metadata; None if none were ever given. `erased` are the
    agents of the newest erasures that reached this log: mail of theirs that a running tool still
    has is not stored again. `queue` are the texts that people sent while a turn was open, in the
    order in which they are to be sent. `last_call` is the newest model call of a turn. `turns`
    counts the turns that were started here, on all branches: the number of the newest one.
    `todo` is the to-do list, `goal` what a person wants to be reached. `jobs` are the background
    commands: those that run, and the newest of those that have ended.

    >>> import sapwood
    >>> with sapwood.open_sync(":memory:") as db:
    ...     agent = db.start("demo", pins={"style": "Be brief."})
    ...     state = agent.state()
    ...     print(state.status, state.version, [pin.name for pin in state.pins])
    running 1 ['style']
    """

    agent: AgentId
    version: int = 0
    status: Status = "none"
    name: str = ""
    parent: AgentId | None = None
    created: int = 0
    updated: int = 0
    settings: Settings = Settings()
    workspace: Workspace = Workspace()
    pins: tuple[events.Pin, ...] = ()
    context: Context = ROOT
    open: OpenTurn | None = None
    marks: tuple[Mark, ...] = ()
    undo: tuple[Step, ...] = ()
    redo: tuple[Step, ...] = ()
    window_moved_at: int = 0
    notes: tuple[Note, ...] = ()
    inbox: tuple[UnreadMail, ...] = ()
    focus: tuple[Focus, ...] = ()
    background: tuple[str, ...] = ()
    declared: tuple[DeclaredNote, ...] = ()
    judged: Judgement = Judgement()
    calibration: dict[str, Calibration] = {}
    tool_schema_tokens: int = 0
    named_by_prompt: bool = False
    spent: Usage = Usage(0)
    calls: int = 0
    turns_without_human: int = 0
    origin: Origin | None = None
    imported_until: TranscriptRange | None = None
    files: Files | None = None
    reverting: Reverting | None = None
    session: SyncedSession | None = None
    instructions: tuple[events.InstructionText, ...] = ()
    instructions_head: TurnRef | None = None
    tags: Tags | None = None
    erased: tuple[AgentId, ...] = ()
    queue: tuple[QueuedPrompt, ...] = ()
    last_call: LastCall = LastCall()
    turns: int = 0
    todo: tuple[events.TodoItem, ...] = ()
    jobs: tuple[Job, ...] = ()
    goal: Goal | None = None

    def ratio(self, model: str = "") -> Calibration:
        """The calibration of token estimates for a model, from the usage that it reported."""
        return self.calibration.get(model or self.settings.model, Calibration())
