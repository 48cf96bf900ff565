"""Refusals inside a turn: it is open or has ended, and its calls have results or not."""

from sapwood.core.refusals.refusal import Refusal, quoted

__all__ = [
    "AskedAgain",
    "CallStarted",
    "CallsOpen",
    "DuplicateCall",
    "NoTurnOpen",
    "StaleRequest",
    "TurnEnded",
    "TurnIsOpen",
    "UnknownCall",
]


class TurnIsOpen(Refusal, frozen=True):
    """The command waits for the end of the turn."""

    command: str

    @property
    def sentence(self) -> str:
        return (
            f"{self.command} would pull the context from under the running turn. "
            "Wait for it to end, or press esc to interrupt it."
        )


class NoTurnOpen(Refusal, frozen=True):
    """The command belongs into a turn."""

    @property
    def sentence(self) -> str:
        return "No turn is open. Start one with a prompt first."


class TurnEnded(Refusal, frozen=True):
    """The turn that was meant is over; if one is open, it is another."""

    @property
    def sentence(self) -> str:
        return "The turn that this belongs to has ended. Nothing was changed; look again first."


class AskedAgain(Refusal, frozen=True):
    """The model call that this is about was given up: another one took its place."""

    @property
    def sentence(self) -> str:
        return (
            "The model was asked again since, and only its last answer counts. Nothing was changed."
        )


class CallsOpen(Refusal, frozen=True):
    """A turn cannot complete while tool calls have no result."""

    calls: tuple[str, ...]

    @property
    def sentence(self) -> str:
        calls = ", ".join(self.calls)
        return f"Tool calls without a result: {calls}. Finish them, or interrupt the turn."


class UnknownCall(Refusal, frozen=True):
    """No open tool call has this id."""

    call: str

    @property
    def sentence(self) -> str:
        call = quoted(self.call)
        return f"No open tool call has the id {call}. Only calls of the last reply can end."


class CallStarted(Refusal, frozen=True):
    """The tool call may have had effects already."""

    call: str

    @property
    def sentence(self) -> str:
        call = quoted(self.call)
        return f"Tool call {call} has started already. Record its result, or interrupt the turn."


class DuplicateCall(Refusal, frozen=True):
    """Two tool calls of one turn have the same id."""

    call: str

    @property
    def sentence(self) -> str:
        call = quoted(self.call)
        return f"The turn has a tool call {call} already. Give each call an id of its own."


class StaleRequest(Refusal, frozen=True):
    """What is about to be sent is not what the log says."""

    @property
    def sentence(self) -> str:
        return "Something was recorded since this request was built. Build it again and call then."
