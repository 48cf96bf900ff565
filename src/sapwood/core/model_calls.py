"""The values of a model call: tools, deltas, the answer, failures. The same for all providers.

Deltas reach screens after they are stored, several at a time. Then the whole answer is stored.
"""

from typing import Literal

from msgspec import Struct

from sapwood.core.content import Ended, ReplyPart, ToolCall, Usage
from sapwood.core.ids import AgentId
from sapwood.core.last_call import Lifetime
from sapwood.core.refusals.budgets import BudgetReached
from sapwood.core.settings import PermissionMode, Workspace


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
        super().__init__("the call is waiting for a person's answer")
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


class CallHints(Struct, frozen=True):
    """What a provider may use besides the request. Each wire format sends what its API takes.

    `cache_key` names the conversation. `previous` is the provider's id of the reply before, which
    it compares the request with. `lifetime` is how long the cache should be kept. With `summarise`,
    the provider itself writes a summary of the request, by this instruction, instead of a reply.
    """

    cache_key: str = ""
    previous: str = ""
    lifetime: Lifetime = "5m"
    summarise: str = ""


class CallReport(Struct, frozen=True, omit_defaults=True):
    """What a provider reports about a call besides its usage.

    `response` is its id of the reply. `dropped` counts the thoughts that it left out of the
    request, and `dropped_why` is its reason. `missed` is how many tokens it could not read from its
    cache although the request before had them, and `missed_why` its reason. `signature` is that of
    a summary that it wrote.
    """

    response: str = ""
    dropped: int = 0
    dropped_why: str = ""
    missed: int = 0
    missed_why: str = ""
    signature: str = ""


class Answer(Struct, frozen=True):
    """The whole message of the model.

    `ended` is whether it is complete, reached the length limit (then its last part is incomplete),
    or was stopped by the provider's filter. `report` is what the provider says about the call.
    """

    parts: tuple[ReplyPart, ...]
    model: str = ""
    usage: Usage | None = None
    ended: Ended = "done"
    report: CallReport = CallReport()


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
