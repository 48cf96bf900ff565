"""Events about agents: start, settings, pins, files, focus, notes, judgements, forks, the end.

Events about mail between agents, and about its erasure. Mail never has the user's authority.

Events about the session that another agent program, such as Claude Code, keeps for an agent.
"""

from typing import ClassVar, Literal

from msgspec import UNSET, Struct

from sapwood.core.content import File, Note, PromptPart, Usage
from sapwood.core.context import ROOT, Context
from sapwood.core.ids import AgentId, Origin
from sapwood.core.program_session import NativeRows, ProgramSession
from sapwood.core.settings import Settings, SettingsChange, Workspace
from sapwood.core.tags import Tags
from sapwood.core.token_count import Calibration

NoteKind = Literal["goal", "decision", "question", "answer"]
"""What a note can declare."""

JudgedStatus = Literal["goal", "obstacle", "other work", "no work"]
"""What a judge can say of a stretch of turns: how it relates to the goal."""

JudgedKind = Literal["decision", "question", "neither"]
"""What a judge can say of a sentence: a decision in force, an open question, or neither."""


class Pin(Struct, frozen=True, omit_defaults=True, gc=False):
    """Text that is in every request, whatever is trimmed.

    `source` is the file of the workspace from which the text was read; empty if it was typed.
    """

    name: str
    text: str
    source: str = ""


PLAN_PIN = "plan"
"""The pin of an accepted plan. It belongs to one conversation."""


def inherited_pins(pins: tuple[Pin, ...]) -> tuple[Pin, ...]:
    """The pins that the next conversation has too."""
    return tuple(pin for pin in pins if pin.name != PLAN_PIN)


class InstructionText(Struct, frozen=True, omit_defaults=True, gc=False):
    """A text before the user's own system prompt, and where it comes from, such as AGENTS.md.

    `fence` marks its end; its author cannot know it. Empty in logs of earlier versions.
    """

    name: str
    text: str
    fence: str = ""


_IDLE_CHILD = (
    "The request below is your goal and outranks what you inherited. "
    "Your final answer is mailed to the parent."
)
"""Never changed: it is what stored notes say."""


class ParentNote(Struct, frozen=True, array_like=True, gc=False):
    """The note that tells a child without a goal that it is one. Its text is not stored.

    >>> ParentNote("lead").note.origin
    'parent'
    """

    source: str
    fence: str = ""

    @property
    def note(self) -> Note:
        """The note as a part of the child's first prompt."""
        return Note("parent", _IDLE_CHILD, self.source, self.fence or UNSET)


class AgentStarted(Struct, frozen=True, omit_defaults=True, gc=False):
    """The first event of every log. A fork starts with its parent's context, others with an empty
    one.

    An imported agent has an `origin`. Forks and successors inherit `calibration`, the corrections
    of token estimates, and `offered`, the size of the tool schemas. `unprompted` is how many turns
    in a row no human started when a model forked this agent. `notes` wait for the first prompt, and
    so does the note of `told`.
    A fork also inherits `instructions`, the texts that were read for its parent. `tags` are its
    owner, labels and metadata; a fork inherits the owner.
    """

    kind: ClassVar = "agent.started"

    by: Literal["person", "script", "fork", "succession", "import"] = "person"
    name: str = ""
    settings: Settings = Settings()
    workspace: Workspace = Workspace()
    pins: tuple[Pin, ...] = ()
    parent: AgentId | None = None
    mark: str = ""
    context: Context = ROOT
    origin: Origin | None = None
    calibration: dict[str, Calibration] = {}
    offered: int = 0
    unprompted: int = 0
    notes: tuple[Note, ...] = ()
    instructions: tuple[InstructionText, ...] = ()
    tags: Tags | None = None
    told: ParentNote | None = None

    @property
    def waiting(self) -> tuple[Note, ...]:
        """All notes that wait for the first prompt."""
        return (self.told.note, *self.notes) if self.told else self.notes


class AgentForked(Struct, frozen=True, omit_defaults=True, gc=False):
    """In the log of the parent: a child was made, perhaps from a mark, perhaps with a goal.

    A `delegated` goal was part of the user's text to the parent, so the parent's model gets it as a
    note with its next prompt, and `fence` marks its end in a request. A child on the `side` answers
    one question; it has no row in the conversation, but its answer has one.
    """

    kind: ClassVar = "agent.forked"

    child: AgentId
    mark: str = ""
    goal: tuple[PromptPart, ...] = ()
    delegated: bool = False
    fence: str = ""
    side: bool = False


class AgentArchived(Struct, frozen=True, omit_defaults=True, gc=False):
    """The agent was archived. Its log can be read; `successor` continues in its workspace."""

    kind: ClassVar = "agent.archived"

    successor: AgentId | None = None


class AgentUnarchived(Struct, frozen=True, gc=False):
    """An archived agent is running again."""

    kind: ClassVar = "agent.unarchived"


class AgentRenamed(Struct, frozen=True, omit_defaults=True, gc=False):
    """The agent has another name from here on.

    `written_by` is the model that wrote it as a title; empty if somebody gave it.
    """

    kind: ClassVar = "agent.renamed"

    name: str
    written_by: str = ""
    usage: Usage | None = None


class AgentTagged(Struct, frozen=True, gc=False):
    """The agent has this owner, these labels and this metadata from here on."""

    kind: ClassVar = "agent.tagged"

    tags: Tags


class AgentKilled(Struct, frozen=True, omit_defaults=True, gc=False):
    """The agent was killed, because `target`, the agent itself or an ancestor, was killed."""

    kind: ClassVar = "agent.killed"

    target: AgentId
    by: AgentId | None = None


class SettingsChanged(Struct, frozen=True, omit_defaults=True, gc=False):
    """Some settings have new values from now on. `why`: Sapwood changed them, for this reason."""

    kind: ClassVar = "settings.changed"

    change: SettingsChange
    why: str = ""


class PinAdded(Struct, frozen=True, gc=False):
    """A pin was set, or replaced under the same name."""

    kind: ClassVar = "pin.added"

    pin: Pin


class PinRemoved(Struct, frozen=True, gc=False):
    """A pin was removed."""

    kind: ClassVar = "pin.removed"

    name: str


class PromptQueued(Struct, frozen=True, gc=False):
    """A person sent a text while a turn was open. It waits, and any screen sends it later.

    `entry` is its id, which is also that of the command that opens its turn.
    """

    kind: ClassVar = "prompt.queued"

    entry: str
    text: str


class PromptUnqueued(Struct, frozen=True, gc=False):
    """A queued text left the queue: it was sent, or a person took it back to change it."""

    kind: ClassVar = "prompt.unqueued"

    entry: str


TodoStatus = Literal["open", "active", "done"]
"""The states of a thing to do."""


class TodoItem(Struct, frozen=True, omit_defaults=True, gc=False):
    """One thing to do."""

    text: str
    status: TodoStatus = "open"


class TodoWritten(Struct, frozen=True, gc=False):
    """The to-do list was replaced, by the model or by a person."""

    kind: ClassVar = "todo.written"

    items: tuple[TodoItem, ...]


class JobStarted(Struct, frozen=True, gc=False):
    """A shell command of the model runs in the background, also after its turn.

    `job` is its number in the conversation, `call` the tool call, and `holder` the process of
    Sapwood that runs it: the command ends with that process.
    """

    kind: ClassVar = "job.started"

    job: int
    line: str
    call: str
    holder: str


class JobEnded(Struct, frozen=True, omit_defaults=True, gc=False):
    """A background command has ended, or a person ended it. `output` is the end of its output."""

    kind: ClassVar = "job.ended"

    job: int
    result: str
    output: str = ""


GoalEnd = Literal["reached", "budget", "stopped"]
"""Why a goal ended: its check passed, its budget ended, or a person ended it."""


class GoalSet(Struct, frozen=True, omit_defaults=True, gc=False):
    """The agent got a goal, on which it works until `check` passes or a budget ends.

    A budget of 0 is no limit; `cost` is in millionths of a dollar.
    """

    kind: ClassVar = "goal.set"

    goal: str
    text: str
    check: str = ""
    turns: int = 0
    tokens: int = 0
    cost: int = 0


class GoalEnded(Struct, frozen=True, omit_defaults=True, gc=False):
    """The goal ended. `message` says what can leave view."""

    kind: ClassVar = "goal.ended"

    goal: str
    reason: GoalEnd
    message: str = ""


class ShellRan(Struct, frozen=True, omit_defaults=True, gc=False):
    """A person ran a shell command in the workspace. `output` ends with the exit status.

    `noted`: the output is put into the next prompt. `fence` marks its end in a request.
    """

    kind: ClassVar = "shell.ran"

    line: str
    output: str
    failed: bool = False
    noted: bool = False
    fence: str = ""


class SideAnswered(Struct, frozen=True, omit_defaults=True, gc=False):
    """A child answered a question on the side. The answer is shown, and not in view."""

    kind: ClassVar = "side.answered"

    child: AgentId
    question: str
    answer: str
    failed: bool = False


class FileAdded(Struct, frozen=True, gc=False):
    """A file was uploaded, for prompts that may follow. No request has it before a prompt does."""

    kind: ClassVar = "file.added"

    file: File


class InstructionsRead(Struct, frozen=True, gc=False):
    """The default prompt and the workspace's instructions were read. Requests contain these texts.

    It stands before the start of a turn, and only if `head` has moved since the last reading or the
    agent has no turn yet. So the earlier request stays a prefix of the later one in between.
    """

    kind: ClassVar = "instructions.read"

    texts: tuple[InstructionText, ...]


class Focused(Struct, frozen=True, gc=False):
    """A topic came into focus; 1 is the highest priority."""

    kind: ClassVar = "topic.focused"

    topic: str
    priority: int = 1


class Unfocused(Struct, frozen=True, gc=False):
    """A topic went to the background."""

    kind: ClassVar = "topic.unfocused"

    topic: str


class NoteDeclared(Struct, frozen=True, gc=False):
    """A person or an agent said what holds: a goal, a decision, a question or an answer.

    `replaces` is the version of the note that no longer holds; 0 if none.
    """

    kind: ClassVar = "note.declared"

    note: NoteKind
    text: str
    replaces: int = 0


class JudgedStretch(Struct, frozen=True, omit_defaults=True, gc=False):
    """What a judge says of a stretch of turns, counted from 1.

    `began` and `ended` are when its first and its last turn began, in microseconds since 1970.
    """

    first: int
    last: int
    status: JudgedStatus
    began: int = 0
    ended: int = 0


class JudgedSentence(Struct, frozen=True, omit_defaults=True, gc=False):
    """What a judge says of a sentence: its kind, and the text in clear words.

    `was` is the sentence as rules found it, empty if the judge found it. `about` is the question
    that it answers.
    """

    text: str
    kind: JudgedKind
    was: str = ""
    about: str = ""


class SessionJudged(Struct, frozen=True, omit_defaults=True, gc=False):
    """A model judged stretches and sentences of the conversation. `usage` is what it cost.

    `judge` is the model, or the program that asked its own model.
    """

    kind: ClassVar = "session.judged"

    judge: str
    stretches: tuple[JudgedStretch, ...] = ()
    sentences: tuple[JudgedSentence, ...] = ()
    usage: Usage | None = None


AgentEvent = (
    AgentStarted
    | AgentForked
    | AgentArchived
    | AgentUnarchived
    | AgentRenamed
    | AgentTagged
    | AgentKilled
    | SettingsChanged
    | PinAdded
    | PinRemoved
    | PromptQueued
    | PromptUnqueued
    | JobStarted
    | JobEnded
    | ShellRan
    | SideAnswered
    | TodoWritten
    | GoalSet
    | GoalEnded
    | FileAdded
    | InstructionsRead
    | Focused
    | Unfocused
    | NoteDeclared
    | SessionJudged
)


class MailSent(Struct, frozen=True, gc=False):
    """In the log of the sender: mail was sent."""

    kind: ClassVar = "mail.sent"

    mail: str
    to: AgentId
    text: str


class MailReceived(Struct, frozen=True, omit_defaults=True, gc=False):
    """In the log of the receiver: mail arrived. `sender` is empty if a person wrote it."""

    kind: ClassVar = "mail.received"

    mail: str
    text: str
    sender: str = ""


class MailRead(Struct, frozen=True, omit_defaults=True, gc=False):
    """Mail was read. `noted`: it is put into the next prompt; else it was a tool result.

    `fence` marks its end in a request.
    """

    kind: ClassVar = "mail.read"

    mails: tuple[str, ...]
    noted: bool = False
    fence: str = ""


class WordsErased(Struct, frozen=True, gc=False):
    """Another agent was erased, and its mail and quotations in this log were replaced.

    The earlier events of this log, or of an agent that it was forked from, are not what they were:
    whoever has them in memory must read them again.
    """

    kind: ClassVar = "words.erased"

    source: AgentId


MailEvent = MailSent | MailReceived | MailRead | WordsErased


class SessionSynced(Struct, frozen=True, omit_defaults=True, gc=False):
    """The session of the program now has the history of `context`.

    `by` is how: one of `sapwood.programs.agent_provider.SyncMethod`, as plain text, so that ways of
    later versions can be read. `rows` are the keys of the rows that Sapwood appended to the
    transcript, `loss` says what could not be carried, and `pins` is the digest of the pins that the
    history began with.
    """

    kind: ClassVar = "session.assumed"

    session: ProgramSession
    by: str = ""
    context: Context = ROOT
    rows: tuple[str, ...] = ()
    loss: str = ""
    pins: str = ""


class NativeRecorded(Struct, frozen=True, gc=False):
    """The rows of the open turn in the transcript of the program that runs it."""

    kind: ClassVar = "native.recorded"

    rows: NativeRows


class SessionDiffered(Struct, frozen=True, gc=False):
    """The program sent another history than its session should have had; `text` says how."""

    kind: ClassVar = "session.differed"

    text: str


SessionEvent = SessionSynced | NativeRecorded | SessionDiffered
