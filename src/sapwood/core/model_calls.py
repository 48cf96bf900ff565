"""The values of a model call: tools, deltas, the answer, failures. The same for all providers.

Deltas reach screens after they are stored, several at a time. Then the whole answer is stored.

The newest model call of an agent: what the next call needs to know about it.
"""

from typing import Literal

from msgspec import Struct, structs

from sapwood.core.content import Ended, ReplyPart, ToolCall, Usage
from sapwood.core.events.envelope import Actor
from sapwood.core.ids import AgentId
from sapwood.core.refusals.agents import BudgetReached
from sapwood.core.settings import PermissionMode, Workspace
from sapwood.core.tags import Tags

Lifetime = Literal["5m", "1h"]
"""How long a provider keeps the beginning of a request in its cache, where there is a choice."""

PAUSES_KEPT = 16
"""How many pauses between turns are remembered."""

_SHORT, _LONG = 300, 3_600

# Prices of Anthropic in units of plain input: a read costs 0.10, a write 1.25, a write that is kept
# for an hour 2.00. A turn adds about a twentieth of what is cached.
_SAVED = 1.25 - 0.10
_DEARER = 2.00 - 1.25
_GROWTH = 0.05


class LastCall(Struct, frozen=True, omit_defaults=True):
    """A model call: the version and the moment of its event, and the version of the call before.

    `response` is the provider's id of the newest reply. `dropped` is how many thoughts the provider
    last said to have left out. `pauses` are the seconds between the last call of a turn and the
    first of the next, the newest last.
    """

    version: int = 0
    at: int = 0
    before: int = 0
    response: str = ""
    dropped: int = 0
    pauses: tuple[int, ...] = ()

    def followed(self, version: int, at: int, turn: int) -> "LastCall":
        """The next call, in the turn that starts at version `turn`."""
        pauses = self.pauses
        if self.version and turn > self.version:
            pauses = (*pauses, max(0, (at - self.at) // 1_000_000))[-PAUSES_KEPT:]
        return structs.replace(self, version=version, at=at, before=self.version, pauses=pauses)

    @property
    def lifetime(self) -> Lifetime:
        """The lifetime of the cache that costs less if the next pauses are like the last ones.

        An hour pays for pauses of 5 to 60 minutes, which otherwise cost a write of everything. It
        costs more for what each turn adds, and for all of it after a longer pause.

        >>> LastCall(pauses=(40, 700, 60)).lifetime, LastCall(pauses=(40, 9_000, 60)).lifetime
        ('1h', '5m')
        """
        between = sum(_SHORT < pause <= _LONG for pause in self.pauses)
        longer = sum(pause > _LONG for pause in self.pauses)
        dearer = _DEARER * (longer + _GROWTH * len(self.pauses))
        return "1h" if between * _SAVED > dearer else "5m"


class ToolSpec(Struct, frozen=True):
    """A tool that the model may call. `schema` is the JSON Schema of its arguments, as text."""

    name: str
    description: str
    schema: str


Effect = Literal["none", "keyed", "some"]
"""Whether a tool call has effects, so that running it twice could do harm.

`keyed`: it has effects, but running it again with the same call id does nothing more."""


class ToolUse(Struct, frozen=True):
    """A tool call, the agent and workspace that it runs for, and the agent's permission mode.

    `is_saved`: this turn has a checkpoint of the files before its first change. `tags` are those of
    the agent. `actor` gave the prompt, and `trace` is their trace.
    """

    agent: AgentId
    workspace: Workspace
    call: ToolCall
    mode: PermissionMode = "ask"
    is_saved: bool = False
    tags: Tags = Tags()
    trace: str = ""
    actor: Actor | None = None


class ToolOutcome(Struct, frozen=True):
    """The result of a tool call for the model. A call that a permission rule denies is an error.

    `reached` is the budget that the call would exceed: then the turn ends after this result.
    `blocked` tells the user why the call was not allowed and which rule would allow it; '' for all
    other calls. `diff` is the change that a call made to a file, for people only. `instructions`
    are the files with instructions that hold for the file of the call, with their texts: those that
    are not in view are added to the result.
    """

    content: str
    error: bool = False
    reached: BudgetReached | None = None
    blocked: str = ""
    diff: str = ""
    instructions: tuple[tuple[str, str], ...] = ()


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

    `version` and `size` say where a stream can be resumed: the version of the last event before
    the piece, and how much of the reply there is with it. Both are 0 until a log is watched.

    >>> Delta("text", "Herons nest").text
    'Herons nest'
    """

    kind: Literal["text", "thinking", "call"]
    text: str
    name: str = ""
    version: int = 0
    size: int = 0


class CallHints(Struct, frozen=True):
    """What a provider may use besides the request. Each wire format sends what its API takes.

    `cache_key` names the conversation. `previous` is the provider's id of the reply before, which
    it compares the request with. `lifetime` is how long the cache should be kept. With `summarise`,
    the provider itself writes a summary of the request, by this instruction, instead of a reply.
    `agent` is the one that asks; no provider gets it.
    """

    cache_key: str = ""
    previous: str = ""
    lifetime: Lifetime = "5m"
    summarise: str = ""
    agent: str = ""


class RetryWait(Struct, frozen=True):
    """A call of `agent` failed, and attempt number `attempt` of `max_attempts` is in `seconds`.

    `unreachable`: the provider did not answer at all; otherwise it asks to try again later.
    """

    agent: str
    seconds: float
    attempt: int
    max_attempts: int
    unreachable: bool = False


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
    `model` is the one whose API key is missing.
    """

    def __init__(
        self,
        kind: FailureKind,
        message: str,
        *,
        again: bool = False,
        after: float | None = None,
        model: str = "",
    ) -> None:
        super().__init__(message)
        self.kind: FailureKind = kind
        self.again = again
        self.after = after
        self.model = model
