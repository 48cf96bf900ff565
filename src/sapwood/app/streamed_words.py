"""The words of replies as they arrive, read from the log: the same in every process."""

from sapwood.app.connection import Connection
from sapwood.core.content import ReplyPart
from sapwood.core.events import Event, ModelCalled, ReplyAdded, ReplyStreamed, TurnStarted
from sapwood.core.ids import AgentId
from sapwood.core.live_words import LiveWords, deltas_after, deltas_of, size_of_words
from sapwood.core.model_calls import Delta


class StreamedWords:
    """Turns the events and the arriving words of an agent into deltas: each word once."""

    def __init__(self) -> None:
        self._parts: tuple[ReplyPart, ...] | None = None
        self._is_live = False

    def deltas_of(self, what: Event | LiveWords) -> list[Delta]:
        """The words that were not in an earlier event, or among the words before."""
        match what:
            case LiveWords(parts=parts):
                # Who comes in the middle of a reply gets all words so far.
                self._is_live = True
                seen, self._parts = self._parts or (), parts
                return what.after(size_of_words(seen))
            case ModelCalled(instruction=""):
                self._parts, self._is_live = (), False
            case ReplyStreamed(parts):
                seen = self._parts or ()
                if self._is_live:  # all words of a reply that was cut off
                    return deltas_after(parts, size_of_words(seen))
                if self._parts is not None:
                    self._parts = (*seen, *parts)
                return deltas_of(parts)
            case ReplyAdded(parts):
                # Who came in the middle of a reply has seen an unknown part of it.
                streamed, self._parts = self._parts, None
                return [] if streamed is None else _rest_of(parts, streamed)
            case _:
                pass
        return []


def _rest_of(parts: tuple[ReplyPart, ...], streamed: tuple[ReplyPart, ...]) -> list[Delta]:
    """The deltas of a reply that were not streamed before it was complete."""
    rest: list[Delta] = []
    seen, whole = deltas_of(streamed), deltas_of(parts)
    for kind in ("thinking", "text"):
        said = "".join(delta.text for delta in seen if delta.kind == kind)
        full = "".join(delta.text for delta in whole if delta.kind == kind)
        if full.startswith(said) and full != said:
            rest.append(Delta(kind, full[len(said) :]))
    calls = [delta for delta in whole if delta.kind == "call"]
    return rest + calls[sum(delta.kind == "call" for delta in seen) :]


async def is_asked_again(connection: Connection, agent: AgentId, ended: int) -> bool:
    """Whether the end of the turn at this version also opened the next turn."""
    end, *after = await connection.log.read(connection.space, agent, ended, limit=4)
    return any(
        isinstance(each.event, TurnStarted) and each.command == end.command for each in after
    )
