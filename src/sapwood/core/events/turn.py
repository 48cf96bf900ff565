"""Events of turns: the prompt, model calls, replies, tool calls, and the end."""

from typing import ClassVar, Literal

from msgspec import Struct

from sapwood.core.content import (
    Ended,
    File,
    PromptPart,
    RecordedReply,
    RecordedResult,
    ReplyPart,
    Usage,
)
from sapwood.core.context import Context
from sapwood.core.ids import TranscriptRange, TurnRef
from sapwood.core.lease import Lease
from sapwood.core.turn_params import TurnParams


class Size(Struct, frozen=True, gc=False):
    """Raw tokens of a whole turn, before calibration, and the name of the counter."""

    tokens: int
    counter: str


class TurnStarted(Struct, frozen=True, omit_defaults=True, gc=False):
    """A prompt opened a turn. A prompt of notes alone is no request of the user.

    With a `lease`, a program runs the turn itself, and no worker does.
    `params` are parameters of this turn alone. `trace` is the trace of the
    program that gave the prompt, as a `traceparent`. `number` is the number of the turn in its
    conversation; 0 in events of versions that did not record it.
    """

    kind: ClassVar = "turn.started"

    parent: TurnRef | None
    prompt: tuple[PromptPart, ...]
    lease: Lease | None = None
    params: TurnParams | None = None
    trace: str = ""
    number: int = 0


class TurnLeased(Struct, frozen=True, gc=False):
    """A program took the open turn up to run it, or continues with it."""

    kind: ClassVar = "turn.leased"

    lease: Lease


class ModelCalled(Struct, frozen=True, omit_defaults=True, gc=False):
    """The manifest of one model call, stored before the call is made.

    The request can be built again from `context` and the place of this event; `hash` proves that it
    is the same. `estimate` is the raw token count, which is later compared with the reported usage;
    `offered` is the part of it for the tool schemas. An `instruction`, such as for a summary, is
    sent after the history, and the call belongs to no turn. If the provider itself is to write the
    summary, `summarised` is how many of the oldest turns in view it gets, and the instruction is
    not part of the request.
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
    summarised: int = 0


class CallReported(Struct, frozen=True, omit_defaults=True, gc=False):
    """The provider reported what a request cost besides its tokens.

    `dropped` counts the thoughts that it left out, because of `dropped_why`. `missed` is how many
    tokens were not in its cache although the call before had them, because of `missed_why`.
    `command` is the context command that was given since the call before; '' if there was none.
    """

    kind: ClassVar = "call.reported"

    model: str
    dropped: int = 0
    dropped_why: str = ""
    missed: int = 0
    missed_why: str = ""
    command: str = ""


class ReplyAdded(Struct, frozen=True, omit_defaults=True, gc=False):
    """The model's message: text, thinking, tool calls.

    If it `ended` at the length limit, its last part is incomplete. If it was `cut`, the turn ended
    first, and its parts are the words that had arrived. `response` is the provider's id of it.
    """

    kind: ClassVar = "reply.added"

    parts: tuple[ReplyPart, ...]
    model: str = ""
    usage: Usage | None = None
    ended: Ended = "done"
    response: str = ""


class ReplyStreamed(Struct, frozen=True, omit_defaults=True, gc=False):
    """Words of a reply that was cut off, if no other event has them.

    Earlier versions stored each piece of a reply in this way while it arrived: `parts` continue
    those of the pieces before, and the reply that follows has all of it again. A tool call has its
    name only.
    """

    kind: ClassVar = "reply.streamed"

    parts: tuple[ReplyPart, ...]


class ReplyLost(Struct, frozen=True, omit_defaults=True, gc=False):
    """A model call got no reply, because the process that made it ended. The model is asked again.

    `parts` are the words that had arrived. The provider may charge for the call: `tokens` is the
    raw size of its request, and `asked` the version of the call.
    """

    kind: ClassVar = "reply.lost"

    parts: tuple[ReplyPart, ...] = ()
    model: str = ""
    tokens: int = 0
    asked: int = 0


class ToolStarted(Struct, frozen=True, gc=False):
    """A tool call starts and may have effects. Stored before it runs, so that it runs once only."""

    kind: ClassVar = "tool.started"

    call: str


class ToolFinished(Struct, frozen=True, omit_defaults=True, gc=False):
    """The result of a tool call.

    `blocked` tells a person why the call was not allowed and which rule would allow it. `diff` is
    the change that the call made to a file. Models see neither. `files` are images and other files
    that the tool returned with its text.
    """

    kind: ClassVar = "tool.finished"

    call: str
    content: str
    error: bool = False
    blocked: str = ""
    diff: str = ""
    files: tuple[File, ...] = ()


class QuestionAsked(Struct, frozen=True, omit_defaults=True, gc=False):
    """A tool call needs the permission of a person and waits. Every screen can answer.

    `question` is its id, and `subject` a command line or a path. `shown` is the whole question as
    JSON, with secrets masked; `hash` is that of the question without masks. `call` is the tool
    call: it has had no effect so far, and starts again after the answer; '' if only the process
    that asked can continue. A later question of the same call replaces this one. Without an answer,
    the call is denied at the moment `until`; 0 is no limit.
    """

    kind: ClassVar = "question.asked"

    question: str
    tool: str
    subject: str
    shown: str
    hash: str
    call: str = ""
    until: int = 0


class QuestionAnswered(Struct, frozen=True, omit_defaults=True, gc=False):
    """The first answer to a question. Its actor is the one who answered.

    The system answers no if nobody did in time. `answer` is the whole answer as JSON.
    """

    kind: ClassVar = "question.answered"

    question: str
    allowed: bool
    answer: str = "{}"


class TurnCompleted(Struct, frozen=True, gc=False):
    """The model has answered."""

    kind: ClassVar = "turn.completed"

    size: Size


class TurnInterrupted(Struct, frozen=True, gc=False):
    """The turn was interrupted. Everything in it so far is kept."""

    kind: ClassVar = "turn.interrupted"

    size: Size
    reason: str = ""


class TurnFailed(Struct, frozen=True, omit_defaults=True, gc=False):
    """The turn failed. Everything in it so far is kept.

    `failure` is one of `sapwood.core.model_calls.FailureKind`, or empty if it is unknown. It is
    plain text, so that kinds of later versions can be read. `retry_at` is when the limit of the
    provider resets, in microseconds since 1970; 0 if it named no time.
    """

    kind: ClassVar = "turn.failed"

    size: Size
    error: str = ""
    failure: str = ""
    retry_at: int = 0


class TurnRecorded(Struct, frozen=True, omit_defaults=True, gc=False):
    """A whole turn of another program in one event. `passage` is its place in the transcript.

    A turn `aside` never came into view: the context had been moved away from its parent before the
    turn ended, because a context command was given in it. `number` is that of `TurnStarted`.
    """

    kind: ClassVar = "turn.recorded"

    parent: TurnRef | None
    prompt: tuple[PromptPart, ...]
    items: tuple[RecordedReply | RecordedResult, ...]
    size: Size
    status: Literal["completed", "interrupted", "failed"] = "completed"
    reason: str = ""
    passage: TranscriptRange | None = None
    aside: bool = False
    number: int = 0


TurnEvent = (
    TurnStarted
    | TurnLeased
    | ModelCalled
    | CallReported
    | ReplyAdded
    | ReplyStreamed
    | ReplyLost
    | QuestionAsked
    | QuestionAnswered
    | ToolStarted
    | ToolFinished
    | TurnCompleted
    | TurnInterrupted
    | TurnFailed
    | TurnRecorded
)
