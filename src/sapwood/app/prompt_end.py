"""When the turns of a prompt have ended, and how: one rule for all faces that wait for a reply."""

from typing import Literal

from msgspec import Struct

from sapwood.app.connection import Connection
from sapwood.app.streamed_words import is_asked_again
from sapwood.core.events import (
    AgentKilled,
    Recorded,
    ReplyAdded,
    ToolFinished,
    TurnCompleted,
    TurnFailed,
    TurnInterrupted,
)
from sapwood.core.ids import AgentId
from sapwood.core.model_calls import Delta

MAX_FAILURES = 4
"""Failures to drive an agent, one after the other, after which nobody waits for its turn."""

EndStatus = Literal["completed", "failed", "interrupted", "killed", "stuck"]
"""`stuck`: the turn is still open, but driving it failed too often."""


class DriveFailure(Struct, frozen=True):
    """Driving an agent failed with an error that is not in its log. The engine tries again."""

    message: str


class PromptEnd(Struct, frozen=True):
    """How a prompt ended. `message` is a sentence for people, empty for a completed turn.

    `reason` is why a turn was interrupted, and `failure` the kind of failure of a failed one.
    """

    status: EndStatus
    message: str = ""
    reason: str = ""
    failure: str = ""


class PromptProgress:
    """Sees what comes of a prompt, in order, and says when nothing more will come.

    A turn that has ended is not the end of the prompt if the model went back to the start of its
    own turn: then the same prompt is asked again.
    """

    def __init__(self, connection: Connection, agent: AgentId) -> None:
        self._connection = connection
        self._agent = agent
        self._failures = 0

    async def end_after(self, what: Recorded | Delta | DriveFailure) -> PromptEnd | None:
        """The end of the prompt, if this was the last that comes of it; else None."""
        match what:
            case Delta():
                return None
            case DriveFailure(message):
                self._failures += 1
                if self._failures < MAX_FAILURES:
                    return None
                return PromptEnd("stuck", f"{message} The turn of {self._agent} is still open.")
            case Recorded():
                if isinstance(what.event, ReplyAdded | ToolFinished):
                    self._failures = 0
                end = self._end_of(what)
                if end is None or await is_asked_again(self._connection, self._agent, what.version):
                    return None
                return end

    def _end_of(self, recorded: Recorded) -> PromptEnd | None:
        match recorded.event:
            case TurnCompleted():
                return PromptEnd("completed")
            case TurnFailed(error=error, failure=failure):
                return PromptEnd("failed", error or "The turn failed.", failure=failure)
            case TurnInterrupted(reason=reason):
                why = f": {reason}" if reason else ""
                return PromptEnd("interrupted", f"The turn was interrupted{why}.", reason=reason)
            case AgentKilled():
                return PromptEnd("killed", f"{self._agent} was killed.")
            case _:
                return None
