"""Events inside a turn: the prompt, model calls, replies, tools, and how it ended."""

from typing import ClassVar, Literal

from msgspec import Struct

from sapwood.core.content import Ended, Got, PromptPart, ReplyPart, Said, Usage
from sapwood.core.context import Context
from sapwood.core.ids import TurnRef
from sapwood.core.origin import Passage

__all__ = [
    "ModelCalled",
    "ReplyAdded",
    "Size",
    "ToolFinished",
    "ToolStarted",
    "TurnCompleted",
    "TurnEvent",
    "TurnFailed",
    "TurnInterrupted",
    "TurnRecorded",
    "TurnStarted",
]


class Size(Struct, frozen=True, gc=False):
    """Raw tokens of a whole turn, by the counter of this name, before any calibration."""

    tokens: int
    counter: str


class TurnStarted(Struct, frozen=True, gc=False):
    """A prompt opened a turn. A prompt of notes alone is a wake-up, not a user's request."""

    kind: ClassVar = "turn.started"

    parent: TurnRef | None
    prompt: tuple[PromptPart, ...]


class ModelCalled(Struct, frozen=True, omit_defaults=True, gc=False):
    """The manifest of one model call, stored before the call is made.

    `context` and this event's own place are all that is needed to build the request again; `hash`
    proves that it is the same one. `estimate` is the raw count that the reply's reported usage
    calibrates; `offered` is the part of it that the schemas of the tools take. An `instruction` is
    sent after the history and belongs to no turn: a summary is asked for in this way.
    """

    kind: ClassVar = "model.called"

    model: str
    context: Context
    hash: str
    estimate: int = 0
    params: str = "{}"
    tools: str = ""
    view: int = 1
    instruction: str = ""
    offered: int = 0


class ReplyAdded(Struct, frozen=True, omit_defaults=True, gc=False):
    """The model's message: text, thinking, tool calls.

    Of one that `ended` at the limit of its length the last part is incomplete.
    """

    kind: ClassVar = "reply.added"

    parts: tuple[ReplyPart, ...]
    model: str = ""
    usage: Usage | None = None
    ended: Ended = "done"


class ToolStarted(Struct, frozen=True, gc=False):
    """A tool call is about to have effects; stored first, so that nobody runs it twice."""

    kind: ClassVar = "tool.started"

    call: str


class ToolFinished(Struct, frozen=True, omit_defaults=True, gc=False):
    """The result of a tool call."""

    kind: ClassVar = "tool.finished"

    call: str
    content: str
    error: bool = False


class TurnCompleted(Struct, frozen=True, gc=False):
    """The model has answered."""

    kind: ClassVar = "turn.completed"

    size: Size


class TurnInterrupted(Struct, frozen=True, gc=False):
    """Somebody stopped the turn. What was there is kept."""

    kind: ClassVar = "turn.interrupted"

    size: Size
    reason: str = ""


class TurnFailed(Struct, frozen=True, omit_defaults=True, gc=False):
    """The turn could not go on. What was there is kept.

    `failure` is one of `sapwood.core.calling.FailureKind`, or empty where it is not known. It is
    plain text, so that a kind of a later version can be read.
    """

    kind: ClassVar = "turn.failed"

    size: Size
    error: str = ""
    failure: str = ""


class TurnRecorded(Struct, frozen=True, omit_defaults=True, gc=False):
    """A whole turn that ran elsewhere, as one fact. An imported one knows its `passage`."""

    kind: ClassVar = "turn.recorded"

    parent: TurnRef | None
    prompt: tuple[PromptPart, ...]
    items: tuple[Said | Got, ...]
    size: Size
    status: Literal["completed", "interrupted", "failed"] = "completed"
    reason: str = ""
    passage: Passage | None = None


TurnEvent = (
    TurnStarted
    | ModelCalled
    | ReplyAdded
    | ToolStarted
    | ToolFinished
    | TurnCompleted
    | TurnInterrupted
    | TurnFailed
    | TurnRecorded
)
