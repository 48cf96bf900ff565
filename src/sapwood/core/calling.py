"""What passes between a turn and a model: tools offered, deltas streamed, the answer, failures.

Neutral between providers. Deltas are for screens and are never stored; the answer is.
"""

from typing import Literal

from msgspec import Struct

from sapwood.core.content import Ended, ReplyPart, ToolCall, Usage
from sapwood.core.ids import AgentId
from sapwood.core.settings import Workspace

__all__ = [
    "Answer",
    "Delta",
    "Effect",
    "Failure",
    "FailureKind",
    "ToolOutcome",
    "ToolSpec",
    "ToolUse",
]


class ToolSpec(Struct, frozen=True):
    """A tool that the model may call; `schema` is the JSON Schema of its arguments, as text."""

    name: str
    description: str
    schema: str


Effect = Literal["none", "some"]
"""Whether running a call twice could do harm."""


class ToolUse(Struct, frozen=True):
    """A call, and on whose behalf it runs."""

    agent: AgentId
    workspace: Workspace
    call: ToolCall


class ToolOutcome(Struct, frozen=True):
    """What the model is told. A refusal by a permission rule is an error like any other."""

    content: str
    error: bool = False


class Delta(Struct, frozen=True, gc=False):
    """A piece of the answer as it arrives. For a call, `text` is a piece of its arguments."""

    kind: Literal["text", "thinking", "call"]
    text: str
    name: str = ""


class Answer(Struct, frozen=True):
    """The whole message of the model.

    `ended` says whether it was done, ran into the limit of its length (its last part is then
    incomplete), or was stopped by the provider's filter.
    """

    parts: tuple[ReplyPart, ...]
    model: str = ""
    usage: Usage | None = None
    ended: Ended = "done"


FailureKind = Literal[
    "no_key",  # no key for the provider
    "bad_key",  # the provider refused it
    "no_model",  # no such model, or no such provider
    "no_network",  # the provider cannot be reached
    "too_long",  # the request does not fit the model's window
    "overloaded",  # the provider asks to come back later
    "cut",  # the stream ended in the middle
    "refused",  # the provider says that the request is wrong
    "other",
]


class Failure(Exception):
    """A model call that gave no answer. The message is fit for a person.

    `again` says whether the same call may succeed later; `after` is how long the provider asks to
    wait, in seconds.
    """

    def __init__(
        self, kind: FailureKind, message: str, *, again: bool = False, after: float | None = None
    ) -> None:
        super().__init__(message)
        self.kind: FailureKind = kind
        self.again = again
        self.after = after
