"""What can be asked of Sapwood. Imperative; `decide` says what follows, or why nothing does.

Ids and time are chosen by whoever gives the command, so that deciding stays pure and repeating a
command is safe.
"""

from typing import Literal

from msgspec import Struct

from sapwood.core.calling import FailureKind
from sapwood.core.checkpoint import Destination, Restored, Saved
from sapwood.core.content import Ended, Got, Note, PromptPart, ReplyPart, Said, Usage
from sapwood.core.context import Context
from sapwood.core.events import HUMAN, Actor, Moment, Pin
from sapwood.core.ids import AgentId, CommandId, TurnRef
from sapwood.core.origin import Origin, Passage
from sapwood.core.settings import Settings, SettingsChange, Workspace

__all__ = [
    "AddPin",
    "AddReply",
    "Archive",
    "CallModel",
    "Clear",
    "Command",
    "Compact",
    "CompleteTurn",
    "Configure",
    "DeferCompact",
    "DropSummary",
    "FailTurn",
    "FinishRevert",
    "FinishTool",
    "Focus",
    "Fork",
    "Given",
    "InterruptTurn",
    "KeepLast",
    "Kill",
    "MakeCheckpoint",
    "MaskResults",
    "MissCheckpoint",
    "ReadMail",
    "RecordTurn",
    "Redo",
    "RemovePin",
    "ReturnTo",
    "Rewind",
    "Send",
    "SetMark",
    "StartAgent",
    "StartRevert",
    "StartTool",
    "StartTurn",
    "Succeed",
    "Undo",
    "Unfocus",
]


class Given(Struct, frozen=True):
    """Who gives a command, when (microseconds since 1970, UTC), and under which id.

    `call` is the tool call through which a model gave it.
    """

    id: CommandId
    at: int
    actor: Actor = HUMAN
    call: str | None = None


class _Command(Struct, frozen=True):
    agent: AgentId


class _InTurn(_Command, frozen=True, kw_only=True):
    """`turn` is the version at which the turn that is meant has started; 0 for the open one.

    Whoever works on a turn names it: it may have ended, and another begun, since they looked.
    """

    turn: int = 0


class StartAgent(_Command, frozen=True):
    """Start a root agent, or with an `origin` one whose turns ran elsewhere.

    An imported agent may have a parent: the one whose subagent it was.
    """

    name: str = ""
    settings: Settings = Settings()
    workspace: Workspace = Workspace()
    pins: tuple[Pin, ...] = ()
    origin: Origin | None = None
    parent: AgentId | None = None


class Configure(_Command, frozen=True):
    """Change settings."""

    change: SettingsChange


class AddPin(_Command, frozen=True):
    """Keep this text in every request; the same name replaces."""

    name: str
    text: str


class RemovePin(_Command, frozen=True):
    """Take a pin out."""

    name: str


class Focus(_Command, frozen=True):
    """Bring a topic into focus."""

    topic: str
    priority: int = 1


class Unfocus(_Command, frozen=True):
    """Send a topic to the background."""

    topic: str


class Fork(_Command, frozen=True):
    """Make a child that sees what this agent sees now, or what came after a mark.

    `goal` becomes its first prompt. `delegated` says that the goal was written to this agent.
    """

    child: AgentId
    mark: str | None = None
    goal: str = ""
    delegated: bool = False
    name: str = ""


class Archive(_Command, frozen=True):
    """Put the agent to rest."""


class Succeed(_Command, frozen=True):
    """Archive the agent and start a fresh one with the same workspace, settings and pins."""

    successor: AgentId
    name: str = ""


class Kill(_Command, frozen=True):
    """End an agent and all its descendants. `agent` is the one to end."""

    by: AgentId | None = None


class StartTurn(_Command, frozen=True):
    """Open a turn with a prompt. Waiting notes go before it."""

    prompt: tuple[PromptPart, ...] = ()


class CallModel(_Command, frozen=True):
    """Record what is about to be sent to a model: the view of the present state, by its hash.

    With an `instruction`, which is sent after the history, it belongs to no turn.
    """

    model: str
    hash: str
    estimate: int = 0
    params: str = "{}"
    tools: str = ""
    instruction: str = ""
    offered: int = 0


class AddReply(_InTurn, frozen=True):
    """Add the model's message to the open turn.

    `asked` is the version of the model call that it answers; 0 for none in particular.
    """

    parts: tuple[ReplyPart, ...]
    model: str = ""
    usage: Usage | None = None
    asked: int = 0
    ended: Ended = "done"


class StartTool(_InTurn, frozen=True):
    """Record that a tool call is about to have effects."""

    tool_call: str


class FinishTool(_InTurn, frozen=True):
    """Record the result of a tool call."""

    tool_call: str
    content: str
    error: bool = False


class CompleteTurn(_InTurn, frozen=True):
    """End the open turn: the model has answered."""


class InterruptTurn(_InTurn, frozen=True):
    """Stop the open turn and keep what is there.

    `said` is what the model had said of its answer to the call at version `asked`; it is kept
    unless that answer is in the log already.
    """

    reason: str = ""
    said: str = ""
    asked: int = 0


class FailTurn(_InTurn, frozen=True):
    """Give the open turn up and keep what is there.

    `asked` is the version of the model call that failed; 0 for none in particular. `failure` is
    the kind of the failure, where it is known.
    """

    error: str = ""
    asked: int = 0
    failure: FailureKind | None = None


class SetMark(_Command, frozen=True):
    """Name the present context; without a name, put it on the stack of marks."""

    name: str = ""


class Clear(_Command, frozen=True):
    """Start afresh: nothing of the history stays in view."""


class KeepLast(_Command, frozen=True):
    """Keep the last `turns` live turns in view."""

    turns: int


class Rewind(_Command, frozen=True):
    """Go back to a mark; without a name, to the newest. `note` is for the model's next prompt."""

    mark: str | None = None
    note: str = ""


class Undo(_Command, frozen=True):
    """Take the last context command back."""


class Redo(_Command, frozen=True):
    """Take the last undo back."""


class Compact(_Command, frozen=True):
    """Put a summary in place of the history, but for the last `keep` turns.

    `of` is the tip that the summary was made of: when turns were added since, it no longer fits.
    An open turn completes with it if its model asked for that.
    """

    summary: str
    keep: int = 0
    ledger: str = ""
    score: float | None = None
    model: str = ""
    usage: Usage | None = None
    of: TurnRef | None = None


class DropSummary(_Command, frozen=True):
    """Record what was used for a summary that is not used, whatever became of the agent since."""

    model: str
    usage: Usage
    reason: str = ""


class DeferCompact(_Command, frozen=True):
    """Compact when the open turn completes, but for the last `keep` turns: a model's own wish."""

    keep: int = 0


class MaskResults(_Command, frozen=True):
    """Show tool results so far of more than `over` characters as stubs."""

    over: int


class MakeCheckpoint(_Command, frozen=True):
    """Record that the files were saved, before or after the turn that started at `turn`."""

    files: Saved
    turn: int = 0
    moment: Moment = "after"


class MissCheckpoint(_Command, frozen=True):
    """Record that the files could not be saved after a turn, and why."""

    reason: str
    turn: int = 0


class StartRevert(_Command, frozen=True):
    """Record that the present files were saved and others are about to take their place."""

    files: Saved
    to: Destination


class FinishRevert(_Command, frozen=True):
    """Have the context follow the files, which are restored.

    `started` is the version at which that was begun, `context` what it was at the destination, and
    `heard` are notes that wait now and stand in a prompt of that context.
    """

    started: int
    context: Context
    files: Saved
    restored: Restored
    heard: tuple[Note, ...] = ()


class Send(_Command, frozen=True):
    """Send mail to another agent; `agent` receives it, `sender` is empty for a person."""

    mail: str
    text: str
    sender: AgentId | None = None


class ReadMail(_Command, frozen=True):
    """Read all unread mail. `into` says how it reaches the model."""

    into: Literal["prompt", "tool"] = "prompt"


class RecordTurn(_Command, frozen=True):
    """Record a whole turn that ran elsewhere. Only a completed one has a result for every call."""

    prompt: tuple[PromptPart, ...]
    items: tuple[Said | Got, ...] = ()
    status: Literal["completed", "interrupted", "failed"] = "completed"
    reason: str = ""
    passage: Passage | None = None


class ReturnTo(_Command, frozen=True):
    """Go back to the end of an earlier turn of this log, as the program did where it ran."""

    turn: TurnRef | None


Command = (
    StartAgent
    | Configure
    | AddPin
    | RemovePin
    | Focus
    | Unfocus
    | Fork
    | Archive
    | Succeed
    | Kill
    | StartTurn
    | CallModel
    | AddReply
    | StartTool
    | FinishTool
    | CompleteTurn
    | InterruptTurn
    | FailTurn
    | SetMark
    | Clear
    | KeepLast
    | Rewind
    | Undo
    | Redo
    | Compact
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
)
