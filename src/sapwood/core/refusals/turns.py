"""Refusals about turns and their tool calls: open or ended, with or without a result."""

from datetime import UTC, datetime

from sapwood.core.refusals.refusal import Refusal, quoted


class TurnIsOpen(Refusal, frozen=True):
    """The command cannot run while a turn is open."""

    command: str
    says = (
        "{command} cannot change the context while a turn is running. "
        "Wait for it to end, or press esc to interrupt it."
    )


class NoTurnOpen(Refusal, frozen=True):
    """The command needs an open turn."""

    says = "No turn is running. Send a message to start one."


class NotQueued(Refusal, frozen=True):
    """The text is in the queue no more."""

    says = (
        "This message is no longer in the queue: it was sent or removed elsewhere. Type it again."
    )


class QueueFull(Refusal, frozen=True):
    """The queue has as many texts as it takes."""

    limit: int
    says = (
        "There are already {limit} messages in the queue, which is the limit. Wait for "
        "the turn to end."
    )


class HookBlocked(Refusal, frozen=True):
    """A hook of the person objects to the prompt."""

    hook: str
    why: str
    says = (
        "The hook {hook} blocked the prompt: {why} Change the prompt, or change the "
        "hook in the file that 'sapwood config' names."
    )


class NoQuestion(Refusal, frozen=True):
    """No question with this id waits for an answer."""

    says = (
        "There is no question to answer: it was already answered, or its turn has ended. "
        "Type /answer to list the open questions."
    )


class OtherQuestion(Refusal, frozen=True):
    """The answer is for a question that is not the one that was asked."""

    says = "The question has changed since it was shown. Read it again, then answer."


class TurnEnded(Refusal, frozen=True):
    """The turn of this command has ended; another one may be open."""

    says = "The turn of this command has ended. Nothing was changed. Read the log again."


class TurnHeld(Refusal, frozen=True):
    """Another process runs the turn. Its lease ends at `until`, in microseconds since 1970.

    >>> TurnHeld(1_700_000_000_000_000).sentence
    'Another process is running this turn and holds its lease until 22:13:20 UTC, unless...'
    """

    until: int

    @property
    def sentence(self) -> str:
        ends = datetime.fromtimestamp(self.until // 1_000_000, UTC)
        return (
            f"Another process is running this turn and holds its lease until {ends:%H:%M:%S} UTC, "
            "unless it renews it. Nothing was changed. Wait until then, or interrupt the turn."
        )


class AskedAgain(Refusal, frozen=True):
    """The model was called again after the call that this answers."""

    says = "The model was called again, and only its newest answer counts. Nothing was changed."


class CallsOpen(Refusal, frozen=True):
    """A turn cannot complete while tool calls have no result."""

    calls: tuple[str, ...]

    @property
    def sentence(self) -> str:
        calls = ", ".join(self.calls)
        return f"These tool calls have no result yet: {calls}. Finish them, or interrupt the turn."


class UnknownCall(Refusal, frozen=True):
    """No open tool call has this id."""

    call: str

    @property
    def sentence(self) -> str:
        call = quoted(self.call)
        return (
            f"No open tool call has the id {call}. Only calls from the last reply can be finished."
        )


class CallStarted(Refusal, frozen=True):
    """The tool call has started already and may have had effects."""

    call: str

    @property
    def sentence(self) -> str:
        call = quoted(self.call)
        return f"Tool call {call} has already started. Record its result, or interrupt the turn."


class DuplicateCall(Refusal, frozen=True):
    """Two tool calls of one turn have the same id."""

    call: str

    @property
    def sentence(self) -> str:
        call = quoted(self.call)
        return f"The turn already has a tool call {call}. Give each call a different id."


class StaleRequest(Refusal, frozen=True):
    """The request that is about to be sent is not the one that the log leads to."""

    says = "The conversation changed after this request was built. Build the request again."
