"""The values of a model call: tools, deltas, the answer, failures. The same for all providers.

Deltas reach screens after they are stored, several at a time. Then the whole answer is stored.
"""

from typing import Literal

from msgspec import Struct

from sapwood.core.content import Ended, ReplyPart, ToolCall, Usage
from sapwood.core.ids import AgentId
from sapwood.core.refusals.budgets import BudgetReached
from sapwood.core.settings import PermissionMode, Workspace

__all__ = [
    "Answer",
    "AnswerAwaited",
    "Delta",
    "Effect",
    "Failure",
    "FailureKind",
    "ToolOutcome",
    "ToolSpec",
    "ToolUse",
]


class ToolSpec(Struct, frozen=True):
    """A tool that the model may call. `schema` is the JSON Schema of its arguments, as text."""

    name: str
    description: str
    schema: str


Effect = Literal["none", "some"]
"""Whether a tool call has effects, so that running it twice could do harm."""


class ToolUse(Struct, frozen=True):
    """A tool call, the agent and workspace that it runs for, and the agent's permission mode.

    `is_saved`: this turn has a checkpoint of the files before its first change.
    """

    agent: AgentId
    workspace: Workspace
    call: ToolCall
    mode: PermissionMode = "ask"
    is_saved: bool = False


class ToolOutcome(Struct, frozen=True):
    """The result of a tool call for the model. A call that a permission rule denies is an error.

    `reached` is the budget that the call would exceed: then the turn ends after this result.
    `blocked` tells the user why the call was not allowed and which rule would allow it; '' for all
    other calls. `diff` is the change that a call made to a file, for people only.
    """

    content: str
    error: bool = False
    reached: BudgetReached | None = None
    blocked: str = ""
    diff: str = ""


class AnswerAwaited(Exception):
    """A tool call had no effect yet, because it needs the answer of a person, which the log awaits.

    The call is run again when the answer wakes the agent, or after `delay` seconds.
    """

    def __init__(self, delay: float | None = None) -> None:
        super().__init__("the call waits for the answer of a person")
        self.delay = delay


class Delta(Struct, frozen=True, gc=False):
    """A piece of the answer.

    For a tool call, `text` is a piece of its arguments, and the first piece has the `name`.

    >>> Delta("text", "Herons nest").text
    'Herons nest'
    """

    kind: Literal["text", "thinking", "call"]
    text: str
    name: str = ""


class Answer(Struct, frozen=True):
    """The whole message of the model.

    `ended` is whether it is complete, reached the length limit (then its last part is incomplete),
    or was stopped by the provider's filter.
    """

    parts: tuple[ReplyPart, ...]
    model: str = ""
    usage: Usage | None = None
    ended: Ended = "done"


FailureKind = Literal[
    "no_key",  # there is no API key for the provider
    "bad_key",  # the provider refused the API key
    "no_model",  # there is no such model or provider
    "no_network",  # the provider cannot be reached
    "too_long",  # the request does not fit into the model's window
    "overloaded",  # the provider asks to try again later
    "cut",  # the stream ended too early
    "refused",  # the provider refused the request as wrong
    "budget",  # a budget of the conversation is used up
    "other",
]


class Failure(Exception):
    """A model call without an answer. The message is written for users.

    `again`: the same call may succeed later. `after` is how many seconds the provider asks to wait.
    """

    def __init__(
        self, kind: FailureKind, message: str, *, again: bool = False, after: float | None = None
    ) -> None:
        super().__init__(message)
        self.kind: FailureKind = kind
        self.again = again
        self.after = after
