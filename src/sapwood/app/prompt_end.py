"""When the turns of a prompt have ended, and how: one rule for all faces that wait for a reply.

The words of replies as they arrive, read from the log: the same in every process.
"""

from itertools import groupby
from typing import Literal

from msgspec import Struct, structs

from sapwood.app.connection import Connection
from sapwood.core import events
from sapwood.core.content import ReplyPart
from sapwood.core.ids import AgentId
from sapwood.core.live_words import (
    LiveWords,
    deltas_after,
    deltas_before,
    deltas_of,
    size_of_deltas,
)
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

    async def end_after(self, what: events.Recorded | Delta | DriveFailure) -> PromptEnd | None:
        """The end of the prompt, if this was the last that comes of it; else None."""
        match what:
            case Delta():
                return None
            case DriveFailure(message):
                self._failures += 1
                if self._failures < MAX_FAILURES:
                    return None
                return PromptEnd("stuck", f"{message} The turn of {self._agent} is still open.")
            case events.Recorded():
                if isinstance(what.event, events.ReplyAdded | events.ToolFinished):
                    self._failures = 0
                end = self._end_of(what)
                if end is None or await is_asked_again(self._connection, self._agent, what.version):
                    return None
                return end

    def _end_of(self, recorded: events.Recorded) -> PromptEnd | None:
        match recorded.event:
            case events.TurnCompleted():
                return PromptEnd("completed")
            case events.TurnFailed(error=error, failure=failure):
                return PromptEnd("failed", error or "The turn failed.", failure=failure)
            case events.TurnInterrupted(reason=reason):
                why = f": {reason}" if reason else ""
                return PromptEnd("interrupted", f"The turn was interrupted{why}.", reason=reason)
            case events.AgentKilled():
                return PromptEnd("killed", f"{self._agent} was killed.")
            case _:
                return None


class StreamedWords:
    """Turns the events and the arriving words of an agent into deltas: each word once.

    A follower that resumes has seen the events up to `after`, and this much of the reply that was
    arriving then.
    """

    def __init__(self, after: int = 0, size: int = 0) -> None:
        self._version = after
        self._had = size
        self._seen: list[Delta] | None = None
        self._is_live = False

    def deltas_of(self, what: events.Recorded | LiveWords) -> list[Delta]:
        """The words that were not in an earlier event, or among the words before."""
        if isinstance(what, LiveWords):
            # Who comes in the middle of a reply gets all words so far.
            self._is_live = True
            had, self._seen = self._size, deltas_of(what.parts)
            return deltas_after(what.parts, had, max(self._version, what.asked))
        found = self._deltas_of_event(what.event)
        self._version = what.version
        return found

    @property
    def _size(self) -> int:
        return self._had if self._seen is None else size_of_deltas(self._seen)

    def _deltas_of_event(self, event: events.Event) -> list[Delta]:
        match event:
            case events.ModelCalled(instruction=""):
                self._seen, self._had, self._is_live = [], 0, False
            case events.ReplyStreamed(parts):
                if self._is_live or (self._seen is None and self._had):
                    # all words of a reply that was cut off
                    return deltas_after(parts, self._size, self._version)
                if self._seen is not None:
                    self._seen += deltas_of(parts)
                return deltas_after(parts, 0, self._version)
            case events.ReplyAdded(parts):
                seen = deltas_before(parts, self._had) if self._seen is None else self._seen
                self._seen, self._had = None, 0
                return _rest_of(parts, seen, self._version)
            case _:
                pass
        return []


def _rest_of(parts: tuple[ReplyPart, ...], seen: list[Delta], version: int) -> list[Delta]:
    """The deltas of a reply that were not streamed before it was complete."""
    size = size_of_deltas(seen)
    if _words(seen) == _words(deltas_before(parts, size)):
        return _joined(deltas_after(parts, size, version))
    rest: list[Delta] = []  # the provider streamed the parts in another order
    whole = deltas_of(parts)
    for kind in ("thinking", "text"):
        said = "".join(delta.text for delta in seen if delta.kind == kind)
        full = "".join(delta.text for delta in whole if delta.kind == kind)
        if full.startswith(said) and full != said:
            rest.append(Delta(kind, full[len(said) :]))
    calls = [delta for delta in whole if delta.kind == "call"]
    rest += calls[sum(delta.kind == "call" for delta in seen) :]
    return [
        structs.replace(delta, version=version, size=size + size_of_deltas(rest[: place + 1]))
        for place, delta in enumerate(rest)
    ]


def _joined(deltas: list[Delta]) -> list[Delta]:
    """The deltas, with those of one kind joined that follow each other; calls stay apart."""
    joined: list[Delta] = []
    for delta in deltas:
        last = joined[-1] if joined else None
        if last is not None and last.kind == delta.kind != "call":
            delta = structs.replace(delta, text=last.text + delta.text)
            joined.pop()
        joined.append(delta)
    return joined


def _words(deltas: list[Delta]) -> list[tuple[str, str]]:
    """The words of deltas by kind, however they are divided into pieces; the names of calls."""
    return [
        (kind, "".join(f"{each.text}{each.name}\n" if each.name else each.text for each in group))
        for kind, group in groupby(deltas, lambda each: each.kind)
    ]


async def is_asked_again(connection: Connection, agent: AgentId, ended: int) -> bool:
    """Whether the end of the turn at this version also opened the next turn."""
    end, *after = await connection.log.read(connection.space, agent, ended, limit=4)
    return any(
        isinstance(each.event, events.TurnStarted) and each.command == end.command for each in after
    )
