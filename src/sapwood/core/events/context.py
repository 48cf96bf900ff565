"""Events that move the context: marks, trims, summaries, rewinds, undo.

Events about the files of a workspace. Each has the version of the one before in `previous`.
"""

from typing import ClassVar, Literal

from msgspec import Struct

from sapwood.core.checkpoint import Destination, Restored, Saved
from sapwood.core.content import Note, Usage
from sapwood.core.context import Context, CutLayer, Mark, Mask
from sapwood.core.ids import EventRef, TurnPlace, TurnRef

Cause = Literal["clear", "keep", "compact", "window"]


class MarkSet(Struct, frozen=True, omit_defaults=True, gc=False):
    """The present context got a name, or an unnamed mark."""

    kind: ClassVar = "mark.set"

    name: str
    turn: int | None = None
    call: str | None = None


class ContextTrimmed(Struct, frozen=True, omit_defaults=True, gc=False):
    """A trim point: `head` moved past this many turns, messages and tokens.

    `notes_dropped`: the notes that waited for the next prompt were dropped. `exact`: the tokens
    were counted and not estimated. `keep` is the number of a `/clear N`.
    """

    kind: ClassVar = "context.trimmed"

    cause: Cause
    head: TurnRef | None
    turns: int = 0
    messages: int = 0
    tokens: int = 0
    summary: EventRef | None = None
    request: EventRef | None = None
    mask: Mask | None = None
    notes_dropped: bool = False
    exact: bool = False
    keep: int = 0


class ContextSummarized(Struct, frozen=True, omit_defaults=True, gc=False):
    """A summary of the turns that the next trim takes out of view.

    `ledger` lists files and commands from the log. `score` is the share of checked facts that the
    summary contains, from 0 to 1. `fence` marks the end of the summary in a request. If a provider
    wrote the summary itself, `signer` is its name and `signature` proves to it that it did.
    """

    kind: ClassVar = "context.summarized"

    text: str
    ledger: str = ""
    score: float | None = None
    model: str = ""
    usage: Usage | None = None
    fence: str = ""
    signer: str = ""
    signature: str = ""


class SummaryDropped(Struct, frozen=True, omit_defaults=True, gc=False):
    """A summary was written and not used: nothing was trimmed. `usage` is what it cost."""

    kind: ClassVar = "summary.dropped"

    model: str
    usage: Usage
    reason: str = ""


class ContextLoaded(Struct, frozen=True, omit_defaults=True, gc=False):
    """A turn out of view came back in front of the live path, as a quotation.

    `source` is the place at which the turn starts, and `fence` marks the end of the quotation in a
    request. `joined` is true if the same command brought the turn before it back too. `place` is
    the turn as people name it, such as `3` or `NAME/3`; earlier versions did not record it.
    """

    kind: ClassVar = "context.loaded"

    source: EventRef
    text: str
    fence: str = ""
    joined: bool = False
    place: str = ""


class ContextCut(Struct, frozen=True, omit_defaults=True, gc=False):
    """Turns and tool results in the middle of the live path were dropped from view.

    `place` is what was dropped, as people name it, such as `4-9`. `turns`, `results`, `messages`
    and `tokens` count it. `note` tells the model with its next prompt what it dropped itself.
    """

    kind: ClassVar = "context.cut"

    layer: CutLayer
    place: str = ""
    turns: int = 0
    results: int = 0
    messages: int = 0
    tokens: int = 0
    exact: bool = False
    note: str = ""


class ContextRestored(Struct, frozen=True, omit_defaults=True, gc=False):
    """Dropped turns and tool results came back into view, at their places."""

    kind: ClassVar = "context.restored"

    layer: CutLayer
    place: str = ""
    turns: int = 0
    results: int = 0


class ContextRewound(Struct, frozen=True, omit_defaults=True, gc=False):
    """The context is again as it was at `version`: that of a mark, or of the end of a turn.

    `note` is what the model wrote to itself, and `fence` marks its end in a request.
    `before` is the turn that was to leave view, by the version at which it starts; 0 for a mark.
    `place` is that turn as people name it; earlier versions did not record it. `cause` is the
    command: a `/retry` goes back to before the turn whose prompt it asks again. `waiting` are all
    notes that wait after it if others do than before; earlier versions did not change them.
    """

    kind: ClassVar = "context.rewound"

    mark: str
    version: int
    context: Context
    note: str = ""
    fence: str = ""
    before: int = 0
    place: str = ""
    cause: Literal["rewind", "retry"] = "rewind"
    waiting: tuple[Note, ...] | None = None


class ContextReverted(Struct, frozen=True, omit_defaults=True, gc=False):
    """Files and context are again as they were at an earlier place.

    `files` are the restored ones; `revert.started` has the files before. `previous` is the version
    of the event about files before this one, which is usually that one.
    `heard` are waiting notes that are in view again and no longer wait. `marks` are those at that
    place; earlier versions did not record them. `waiting` are all notes that wait after it if
    notes of turns that it left behind wait again; earlier versions did not bring them back.
    """

    kind: ClassVar = "context.reverted"

    to: Destination
    context: Context
    files: Saved
    restored: Restored
    previous: int
    heard: tuple[Note, ...] = ()
    marks: tuple[Mark, ...] | None = None
    waiting: tuple[Note, ...] | None = None


class ContextUndone(Struct, frozen=True, omit_defaults=True, gc=False):
    """The last context command was undone; `context` is the context after it.

    `command` is the command that was undone; earlier versions did not record it.
    """

    kind: ClassVar = "context.undone"

    context: Context
    command: str = ""


class ContextRedone(Struct, frozen=True, omit_defaults=True, gc=False):
    """The last undone command was redone; `context` is the context after it.

    `command` is the command that was redone; earlier versions did not record it.
    """

    kind: ClassVar = "context.redone"

    context: Context
    command: str = ""


class ResultsMasked(Struct, frozen=True, gc=False):
    """Large tool results are sent as stubs from now on."""

    kind: ClassVar = "results.masked"

    mask: Mask


class ClearDeferred(Struct, frozen=True, omit_defaults=True, gc=False):
    """A model asked to clear or compact its own context when its turn completes.

    `mark` and its `version` are for a rewind, `keep` for keeping the last turns; without both, all
    turns leave view. `compact` replaces the turns by a summary.
    """

    kind: ClassVar = "clear.deferred"

    mark: str | None = None
    version: int = 0
    keep: int | None = None
    note: str = ""
    compact: bool = False


class DropDeferred(Struct, frozen=True, omit_defaults=True, gc=False):
    """A model asked to drop turns or tool results from its own context when its turn completes.

    `only_results`: of these turns, the results alone.
    """

    kind: ClassVar = "drop.deferred"

    places: tuple[TurnPlace, ...]
    only_results: bool = False


ContextEvent = (
    MarkSet
    | ContextTrimmed
    | ContextCut
    | ContextRestored
    | ContextSummarized
    | SummaryDropped
    | ContextLoaded
    | ContextRewound
    | ContextReverted
    | ContextUndone
    | ContextRedone
    | ResultsMasked
    | ClearDeferred
    | DropDeferred
)


Moment = Literal["before", "after"]


class CheckpointMade(Struct, frozen=True, omit_defaults=True, gc=False):
    """The files were saved: before the turn that starts at `turn` changed any, or after it."""

    kind: ClassVar = "checkpoint.made"

    files: Saved
    turn: int = 0
    moment: Moment = "after"
    previous: int = 0


class CheckpointMissed(Struct, frozen=True, omit_defaults=True, gc=False):
    """The files could not be saved before or after a turn, nor up to the next checkpoint."""

    kind: ClassVar = "checkpoint.missed"

    reason: str
    turn: int = 0
    previous: int = 0
    moment: Moment = "after"


class RevertStarted(Struct, frozen=True, omit_defaults=True, gc=False):
    """The present files were saved, and others are going to replace them.

    Until `context.reverted` follows, some files may be replaced and some not. `of` is another agent
    whose files they are, as they were before its turn that starts at `turn`.
    """

    kind: ClassVar = "revert.started"

    files: Saved
    to: Destination
    previous: int = 0
    of: str = ""
    turn: int = 0


FilesEvent = CheckpointMade | CheckpointMissed | RevertStarted
