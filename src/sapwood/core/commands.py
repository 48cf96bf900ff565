"""All commands. `decide` turns each into events, or into a refusal.

The sender chooses the ids and the time of a command. So `decide` is pure, and sending a command
twice is safe.
"""

from typing import Literal

from msgspec import Struct

from sapwood.core import events
from sapwood.core.checkpoint import Destination, Restored, Saved
from sapwood.core.content import (
    Ended,
    File,
    Note,
    PromptPart,
    RecordedReply,
    RecordedResult,
    ReplyPart,
    Usage,
)
from sapwood.core.context import Context, Mark
from sapwood.core.ids import (
    AgentId,
    CommandId,
    EventRef,
    Origin,
    TranscriptRange,
    TurnPlace,
    TurnRef,
)
from sapwood.core.lease import Lease
from sapwood.core.model_calls import CallReport, FailureKind
from sapwood.core.program_session import NativeRows, ProgramSession
from sapwood.core.settings import Settings, SettingsChange, Workspace
from sapwood.core.tags import Entry, Tags
from sapwood.core.turn_params import TurnParams


class CommandMeta(Struct, frozen=True):
    """Who sends a command, when (microseconds since 1970, UTC), and under which id.

    `call` is the tool call by which a model sent it. `nonce` is random: it marks the end of texts
    that the command puts into a context, so that their author cannot know the mark. `holder` is the
    name under which the sender has the lease of the open turn. `trace` is the sender's trace, as a
    `traceparent`. `request` is what the sender was asked for, where it made the command from more
    than that: a retry asks for the same, but its command may have another new id, or the text of a
    file that has changed. Empty: the command is what was asked for.
    """

    id: CommandId
    at: int
    actor: events.Actor = events.HUMAN
    call: str | None = None
    nonce: str = ""
    holder: str = ""
    trace: str = ""
    request: str = ""


class _Command(Struct, frozen=True, omit_defaults=True):
    agent: AgentId


class _InTurn(_Command, frozen=True, kw_only=True):
    """`turn` is the version at which the turn starts; 0 for any open turn.

    A worker names the turn that it drives, because that turn may have ended and another one may
    have started since the worker read the log.
    """

    turn: int = 0


class StartAgent(_Command, frozen=True):
    """Start a root agent, or with an `origin` an agent for an imported conversation.

    An imported agent may have a parent: the agent whose subagent it was. `script`: a command of a
    script starts it, so it is not a conversation that a person comes back to. `tags` are its owner,
    labels and metadata.
    """

    name: str = ""
    settings: Settings = Settings()
    workspace: Workspace = Workspace()
    pins: tuple[events.Pin, ...] = ()
    origin: Origin | None = None
    parent: AgentId | None = None
    script: bool = False
    tags: Tags | None = None


class Configure(_Command, frozen=True):
    """Change settings. `why` is the reason if Sapwood does, and not a person."""

    change: SettingsChange
    why: str = ""


class QuotedTurn(Struct, frozen=True, omit_defaults=True):
    """A turn to be quoted: where it starts, what it said, and how people name it."""

    source: EventRef
    text: str
    place: str = ""


class Load(_Command, frozen=True):
    """Bring a turn out of view back in front of the live path, as a quotation.

    `source` is where the turn starts in the log, `text` is what it said. `more` are further turns,
    which one undo removes together with it. `place` is how people name the turn, such as `3`.
    """

    source: EventRef
    text: str
    more: tuple[QuotedTurn, ...] = ()
    place: str = ""


class Drop(_Command, frozen=True):
    """Take turns or tool results between `head` and `tip` out of view, at their places.

    `only_results`: of these turns, the results alone, where a stub is shorter. `place` is what was
    typed, if the turns of another conversation have a name there.
    """

    places: tuple[TurnPlace, ...]
    only_results: bool = False
    place: str = ""


class Restore(_Command, frozen=True):
    """Bring dropped turns or tool results back into view, at their places."""

    places: tuple[TurnPlace, ...]
    place: str = ""


class AddPin(_Command, frozen=True):
    """Put a text into every request. A pin with the same name is replaced.

    `source` is the file of the workspace from which the text was read; empty if it was typed.
    """

    name: str
    text: str
    source: str = ""


class RemovePin(_Command, frozen=True):
    """Remove a pin."""

    name: str


class Focus(_Command, frozen=True):
    """Bring a topic into focus."""

    topic: str
    priority: int = 1


class Unfocus(_Command, frozen=True):
    """Send a topic to the background."""

    topic: str


class DeclareNote(_Command, frozen=True):
    """Say what holds: a goal, a decision, a question or an answer.

    `replaces` is the id of a note that no longer holds; an answer replaces its question.
    """

    note: events.NoteKind
    text: str
    replaces: int = 0


class RecordJudgement(_Command, frozen=True):
    """Record what a model said of stretches and sentences. Only the system gives it."""

    judge: str
    stretches: tuple[events.JudgedStretch, ...] = ()
    sentences: tuple[events.JudgedSentence, ...] = ()
    usage: Usage | None = None


class Fork(_Command, frozen=True):
    """Make a child with the present context, or with the turns after a mark.

    `goal` becomes its first prompt. `delegated`: the goal was part of a prompt to this agent.
    `workspace` is where it works, by default where its parent does. `change` are settings that
    differ from those of the parent, such as another model. `continues`: it continues with the
    conversation and is no helper of the parent, so it is not told of a parent and reports nothing.
    `side`: the goal is a question on the side. The child is told so, and neither has the prompt of
    the open turn nor reports anything.
    """

    child: AgentId
    mark: str | None = None
    goal: str = ""
    delegated: bool = False
    name: str = ""
    workspace: Workspace | None = None
    change: SettingsChange | None = None
    continues: bool = False
    side: bool = False


class QueuePrompt(_Command, frozen=True):
    """Keep a text until the open turn has ended. `entry` is a new id."""

    entry: str
    text: str


class UnqueuePrompt(_Command, frozen=True):
    """Take a text out of the queue, because it was sent or a person changes it."""

    entry: str


class WriteTodo(_Command, frozen=True):
    """Replace the to-do list."""

    items: tuple[events.TodoItem, ...]


class StartJob(_Command, frozen=True):
    """Record a shell command that is about to run in the background, by the process `holder`."""

    line: str
    call: str
    holder: str


class EndJob(_Command, frozen=True):
    """Record the end of a background command, or have it ended by the process that runs it."""

    job: int
    result: str
    output: str = ""


class RecordShell(_Command, frozen=True):
    """Record a shell command that a person ran, and its output with the exit status.

    `noted`: the output is put into the next prompt.
    """

    line: str
    output: str
    failed: bool = False
    noted: bool = True


class RecordSideAnswer(_Command, frozen=True):
    """Record what a child answered to a question on the side. It does not come into view."""

    child: AgentId
    question: str
    answer: str
    failed: bool = False


class SetGoal(_Command, frozen=True):
    """Set what the agent works on until `check` passes or a budget ends. `goal` is a new id.

    A budget of 0 is no limit: `turns`, `tokens`, and `cost` in millionths of a dollar. Without a
    `check`, the model says that the goal is reached.
    """

    goal: str
    text: str
    check: str = ""
    turns: int = 0
    tokens: int = 0
    cost: int = 0


class EndGoal(_Command, frozen=True):
    """End the goal of this id. `message` says what can leave view now."""

    goal: str
    reason: events.GoalEnd
    message: str = ""


class Archive(_Command, frozen=True):
    """Archive the agent: its log can be read and takes no more turns."""


class Unarchive(_Command, frozen=True):
    """Make an archived agent running again."""


class Rename(_Command, frozen=True):
    """Give the agent another name. Its id stays.

    `written_by` is the model that wrote it as a title, and `usage` what that cost: then a name that
    a person gave stays.
    """

    name: str
    written_by: str = ""
    usage: Usage | None = None


class TagAgent(_Command, frozen=True):
    """Change the owner, the labels or the metadata of the agent, also of one that has ended.

    An entry of the metadata with an empty value removes the entry of its name.
    """

    owner: str | None = None
    labels: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()
    metadata: tuple[Entry, ...] = ()


class AddFile(_Command, frozen=True):
    """Store a file that was uploaded, so that a prompt can have it."""

    file: File


class StartSuccessor(_Command, frozen=True):
    """Archive the agent and start a new one with the same workspace, settings and pins."""

    successor: AgentId
    name: str = ""


class Kill(_Command, frozen=True):
    """Kill `agent` and all its descendants."""

    by: AgentId | None = None


class StartTurn(_Command, frozen=True):
    """Open a turn with a prompt. Waiting notes are put before it.

    `instructions` are the default prompt and the workspace's instructions as they are now. They
    replace the stored ones if the agent has no turn yet or `head` has moved since they were read.
    None: whoever gives the prompt reads none. With a `lease` the sender runs the turn itself.
    `params` are parameters of this turn alone.
    """

    prompt: tuple[PromptPart, ...] = ()
    instructions: tuple[events.InstructionText, ...] | None = None
    lease: Lease | None = None
    params: TurnParams | None = None


class LeaseTurn(_InTurn, frozen=True):
    """Take the open turn up to run it, or renew the lease of whoever runs it.

    Refused while another process has a lease, unless `take_over`: then that process can change the
    turn no more.
    """

    lease: Lease
    take_over: bool = False


class CallModel(_Command, frozen=True):
    """Record the request that will be sent to a model: the view of the present state, by its hash.

    An `instruction` is sent after the history; a call with one belongs to no turn. `lost` is the
    version of the call before, if the process that made it ended before the reply. `summarised` is
    how many of the oldest turns the provider gets to write a summary of them itself.
    """

    model: str
    hash: str
    estimate: int = 0
    params: str = "{}"
    tools: str = ""
    instruction: str = ""
    offered: int = 0
    lost: int = 0
    summarised: int = 0


class AddReply(_InTurn, frozen=True):
    """Add the model's message to the open turn.

    `asked` is the version of the model call that it answers; 0 for any. `report` is what the
    provider says about the call.
    """

    parts: tuple[ReplyPart, ...]
    model: str = ""
    usage: Usage | None = None
    asked: int = 0
    ended: Ended = "done"
    report: CallReport = CallReport()


class StreamReply(_InTurn, frozen=True):
    """Store words of the reply that is arriving, in answer to the model call at `asked`.

    They are stored beside the log, together with those before.
    """

    parts: tuple[ReplyPart, ...]
    asked: int


class StartTool(_InTurn, frozen=True):
    """Record that a tool call starts and may have effects from now on."""

    tool_call: str


class AskQuestion(_InTurn, frozen=True):
    """Ask whoever watches the agent whether a tool call may run.

    With `of_call`, the call has had no effect so far, and starts again after the answer. Without
    an answer it is denied at the moment `until`; 0 is no limit.
    """

    question: str
    tool: str
    subject: str
    shown: str
    hash: str
    of_call: str = ""
    until: int = 0


class AnswerQuestion(_Command, frozen=True):
    """Answer a question. `hash` is that of the question that was shown. The first answer counts."""

    question: str
    hash: str
    allowed: bool
    answer: str = "{}"


class FinishTool(_InTurn, frozen=True):
    """Record the result of a tool call.

    `blocked` tells a person why the call was not allowed, `diff` is the change that it made to a
    file. Models see neither. `files` are images and other files beside the text.
    """

    tool_call: str
    content: str
    error: bool = False
    blocked: str = ""
    diff: str = ""
    files: tuple[File, ...] = ()


class CompleteTurn(_InTurn, frozen=True):
    """Complete the open turn: the model has answered."""


class InterruptTurn(_InTurn, frozen=True):
    """Interrupt the open turn and keep what it has so far.

    `partial` is what the model had sent of its answer to the call at version `asked`. It is kept
    unless the log has that answer already.
    """

    reason: str = ""
    partial: str = ""
    asked: int = 0


class FailTurn(_InTurn, frozen=True):
    """End the open turn as failed and keep what it has so far.

    `asked` is the version of the model call that failed; 0 for any. `failure` is the kind of the
    failure, if it is known, and `retry_at` when the provider says that a call can succeed.
    """

    error: str = ""
    asked: int = 0
    failure: FailureKind | None = None
    retry_at: int = 0


class SetMark(_Command, frozen=True):
    """Name the present context. Without a name, set an unnamed mark."""

    name: str = ""


class Clear(_Command, frozen=True):
    """Take the whole history out of view."""


class KeepLast(_Command, frozen=True):
    """Keep only the last `turns` live turns in view."""

    turns: int


class Rewind(_Command, frozen=True):
    """Go back to a mark; without a name, to the newest. `note` is put into the next prompt.

    With `before`, go back to before that turn instead; `context` is the context there, and `place`
    is how people name the turn, such as `3` or `NAME/3`. `cause` is the command that asked for it.
    `notes_left` are the notes of turns that are left behind, which wait again, and `notes_in_view`
    the waiting notes that are already in a prompt of that context.
    """

    mark: str | None = None
    note: str = ""
    before: TurnRef | None = None
    context: Context | None = None
    place: str = ""
    cause: Literal["rewind", "retry"] = "rewind"
    notes_left: tuple[Note, ...] = ()
    notes_in_view: tuple[Note, ...] = ()


class Undo(_Command, frozen=True):
    """Undo the last context command.

    `step` is the version of the command that is meant, if it is known: refused if another is last.
    """

    step: int = 0


class Redo(_Command, frozen=True):
    """Redo the last context command that was undone."""


class Compact(_Command, frozen=True):
    """Replace the history except for the last `keep` turns by a summary.

    `of` is the tip at which the summary was written: the command is refused if turns were added
    since. `context` is the whole context then: the command is refused if another is in view. It
    also completes an open turn whose model asked to compact. `signer` and `signature` are those of
    a provider that wrote the summary itself. `tokens` is the size of the turns that leave, if the
    provider counted them.
    """

    summary: str
    keep: int = 0
    ledger: str = ""
    score: float | None = None
    model: str = ""
    usage: Usage | None = None
    of: TurnRef | None = None
    signer: str = ""
    signature: str = ""
    tokens: int = 0
    context: Context | None = None


class ExtendSummary(_Command, frozen=True):
    """Replace the summary by one that also has the turns that the window moved out of view.

    `moved` is the version of that move. The command is refused if the context was moved since.
    """

    summary: str
    moved: int
    ledger: str = ""
    score: float | None = None
    model: str = ""
    usage: Usage | None = None


class DropSummary(_Command, frozen=True):
    """Record the tokens of a summary that is not used. Works for an agent of any status."""

    model: str
    usage: Usage
    reason: str = ""


class DeferCompact(_Command, frozen=True):
    """A model asks to compact all but the last `keep` turns when its open turn completes."""

    keep: int = 0


class MaskResults(_Command, frozen=True):
    """Replace the present tool results of more than `over` characters by stubs."""

    over: int


class MakeCheckpoint(_Command, frozen=True):
    """Record that the files were saved, before or after the turn that started at `turn`."""

    files: Saved
    turn: int = 0
    moment: events.Moment = "after"


class MissCheckpoint(_Command, frozen=True):
    """Record that the files could not be saved before or after a turn, and why."""

    reason: str
    turn: int = 0
    moment: events.Moment = "after"


class StartRevert(_Command, frozen=True):
    """Record that the present files were saved and that others will replace them.

    `of` is another agent whose files they are, before its turn that starts at `turn`.
    """

    files: Saved
    to: Destination
    of: str = ""
    turn: int = 0


class FinishRevert(_Command, frozen=True):
    """Move the context back, after the files were restored.

    `started` is the version of the revert's start, `context` the context at the destination, and
    `notes_in_view` are the waiting notes that are already in a prompt of that context. `marks` are
    those at the destination; None keeps the present ones that are as old. `notes_left` are the
    notes of turns that are left behind, which wait again.
    """

    started: int
    context: Context
    files: Saved
    restored: Restored
    notes_in_view: tuple[Note, ...] = ()
    marks: tuple[Mark, ...] | None = None
    notes_left: tuple[Note, ...] = ()


class Send(_Command, frozen=True):
    """Send mail to `agent`. `sender` is None if a person sends it."""

    mail: str
    text: str
    sender: AgentId | None = None


class ReadMail(_Command, frozen=True):
    """Read all unread mail. `into`: the model gets it with its next prompt or as a tool result."""

    into: Literal["prompt", "tool"] = "prompt"


class RecordTurn(_Command, frozen=True):
    """Record a whole turn of another program. In a completed one every call has a result.

    `aside`: it follows the turn `after` and leaves the context as it is.
    """

    prompt: tuple[PromptPart, ...]
    items: tuple[RecordedReply | RecordedResult, ...] = ()
    status: Literal["completed", "interrupted", "failed"] = "completed"
    reason: str = ""
    passage: TranscriptRange | None = None
    aside: bool = False
    after: TurnRef | None = None


class ReturnTo(_Command, frozen=True):
    """Go back to the end of an earlier turn of an imported log, as its program did.

    `whole`: everything before it is in view, also what had left view. `after` is the turn before
    it, if it was recorded aside.
    """

    turn: TurnRef | None
    whole: bool = False
    after: TurnRef | None = None


class RecordSync(_Command, frozen=True):
    """Record that a program's session has the history of `context`. Only the system gives it.

    `rows` are the keys of the rows that were appended to its transcript, `loss` says what could not
    be carried, and `pins` is the digest of the pins that the history begins with.
    """

    session: ProgramSession
    by: str
    context: Context
    rows: tuple[str, ...] = ()
    loss: str = ""
    pins: str = ""


class RecordNative(_InTurn, frozen=True):
    """Record the rows of the open turn in the program's transcript. Only the system gives it."""

    rows: NativeRows


class RecordDifference(_Command, frozen=True):
    """Record how a program's request differed from the history. Only the system gives it."""

    text: str


Command = (
    StartAgent
    | Configure
    | AddPin
    | Load
    | RemovePin
    | QueuePrompt
    | UnqueuePrompt
    | StartJob
    | EndJob
    | RecordShell
    | RecordSideAnswer
    | WriteTodo
    | SetGoal
    | EndGoal
    | Focus
    | Unfocus
    | DeclareNote
    | RecordJudgement
    | Fork
    | Archive
    | Unarchive
    | Rename
    | TagAgent
    | AddFile
    | StartSuccessor
    | Kill
    | StartTurn
    | LeaseTurn
    | CallModel
    | AddReply
    | StreamReply
    | StartTool
    | AskQuestion
    | AnswerQuestion
    | FinishTool
    | CompleteTurn
    | InterruptTurn
    | FailTurn
    | SetMark
    | Clear
    | KeepLast
    | Drop
    | Restore
    | Rewind
    | Undo
    | Redo
    | Compact
    | ExtendSummary
    | DropSummary
    | DeferCompact
    | MaskResults
    | MakeCheckpoint
    | MissCheckpoint
    | StartRevert
    | FinishRevert
    | Send
    | ReadMail
    | RecordTurn
    | ReturnTo
    | RecordSync
    | RecordNative
    | RecordDifference
)
