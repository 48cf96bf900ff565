"""Events that move the context: marks, trims, summaries, rewinds, undo."""

from typing import ClassVar, Literal

from msgspec import Struct

from sapwood.core.checkpoint import Destination, Restored, Saved
from sapwood.core.content import Note, Usage
from sapwood.core.context import Context, Mask
from sapwood.core.ids import EventRef, TurnRef

__all__ = [
    "Cause",
    "ClearDeferred",
    "ContextEvent",
    "ContextRedone",
    "ContextReverted",
    "ContextRewound",
    "ContextSummarized",
    "ContextTrimmed",
    "ContextUndone",
    "MarkSet",
    "ResultsMasked",
    "SummaryDropped",
]

Cause = Literal["clear", "keep", "compact", "window"]


class MarkSet(Struct, frozen=True, omit_defaults=True, gc=False):
    """The present context got a name, or an unnamed place on the stack of marks."""

    kind: ClassVar = "mark.set"

    name: str
    turn: int | None = None
    call: str | None = None


class ContextTrimmed(Struct, frozen=True, omit_defaults=True, gc=False):
    """The trim point: `head` moved, and this many turns, messages and tokens were left behind."""

    kind: ClassVar = "context.trimmed"

    cause: Cause
    head: TurnRef | None
    turns: int = 0
    messages: int = 0
    tokens: int = 0
    summary: EventRef | None = None
    request: EventRef | None = None
    mask: Mask | None = None


class ContextSummarized(Struct, frozen=True, omit_defaults=True, gc=False):
    """A summary of what the next trim leaves behind.

    `ledger` is what the log itself says of files and commands; `score` is how much of it the
    summary was found to hold, from 0 to 1.
    """

    kind: ClassVar = "context.summarized"

    text: str
    ledger: str = ""
    score: float | None = None
    model: str = ""
    usage: Usage | None = None


class SummaryDropped(Struct, frozen=True, omit_defaults=True, gc=False):
    """A summary was asked for and not used: nothing was trimmed, and this is what it cost."""

    kind: ClassVar = "summary.dropped"

    model: str
    usage: Usage
    reason: str = ""


class ContextRewound(Struct, frozen=True, omit_defaults=True, gc=False):
    """The context is again what it was at a `version`: that of a mark, or where a turn ended."""

    kind: ClassVar = "context.rewound"

    mark: str
    version: int
    context: Context
    note: str = ""


class ContextReverted(Struct, frozen=True, omit_defaults=True, gc=False):
    """Files and context are again what they were at an earlier place.

    `files` are those that took the place of what `revert.started`, at `previous`, has saved.
    `heard` are notes that waited and are in view again.
    """

    kind: ClassVar = "context.reverted"

    to: Destination
    context: Context
    files: Saved
    restored: Restored
    previous: int
    heard: tuple[Note, ...] = ()


class ContextUndone(Struct, frozen=True, gc=False):
    """The last context command was taken back; this is the context since."""

    kind: ClassVar = "context.undone"

    context: Context


class ContextRedone(Struct, frozen=True, gc=False):
    """The last undo was taken back; this is the context since."""

    kind: ClassVar = "context.redone"

    context: Context


class ResultsMasked(Struct, frozen=True, gc=False):
    """Large tool results show as stubs from here on."""

    kind: ClassVar = "results.masked"

    mask: Mask


class ClearDeferred(Struct, frozen=True, omit_defaults=True, gc=False):
    """A model asked to clear or compact its own context: it happens when its turn completes.

    `mark` and its `version` for a rewind, `keep` for the last turns, neither for a fresh start.
    `compact` puts a summary in the place of what leaves.
    """

    kind: ClassVar = "clear.deferred"

    mark: str | None = None
    version: int = 0
    keep: int | None = None
    note: str = ""
    compact: bool = False


ContextEvent = (
    MarkSet
    | ContextTrimmed
    | ContextSummarized
    | SummaryDropped
    | ContextRewound
    | ContextReverted
    | ContextUndone
    | ContextRedone
    | ResultsMasked
    | ClearDeferred
)
