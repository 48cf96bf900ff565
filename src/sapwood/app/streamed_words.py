"""The words of replies as they arrive, read from the log: the same in every process."""

from typing import assert_never

from sapwood.app.connection import Connection
from sapwood.core.content import (
    File,
    ReplyPart,
    Text,
    Thinking,
    ToolCall,
)
from sapwood.core.events import Event, ModelCalled, ReplyAdded, ReplyStreamed, TurnStarted
from sapwood.core.ids import AgentId
from sapwood.core.model_calls import Delta
from sapwood.runtime.open_agent import open_agent

__all__ = ["StreamedWords", "is_asked_again", "words_so_far"]


class StreamedWords:
    """Turns the events of an agent into deltas: each word of a reply once."""

    def __init__(self) -> None:
        self._parts: tuple[ReplyPart, ...] | None = None

    def deltas_of(self, event: Event) -> list[Delta]:
        """The words of the event that were not in an earlier one."""
        match event:
            case ModelCalled(instruction=""):
                self._parts = ()
            case ReplyStreamed(parts):
                if self._parts is not None:
                    self._parts = (*self._parts, *parts)
                return _deltas(parts)
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
    seen, whole = _deltas(streamed), _deltas(parts)
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


async def words_so_far(connection: Connection, agent: AgentId, version: int) -> list[Delta]:
    """What had arrived at a version of the log of a reply that is not complete, as deltas."""
    at = await open_agent(connection.log, connection.space, agent, version)
    return _deltas(at.live.open.streamed) if at.live.open else []


def _deltas(parts: tuple[ReplyPart, ...]) -> list[Delta]:
    deltas: list[Delta] = []
    for part in parts:
        match part:
            case File():
                pass
            case Text(text):
                deltas.append(Delta("text", text))
            case Thinking(text):
                deltas.append(Delta("thinking", text))
            case ToolCall(_, name):
                deltas.append(Delta("call", "", name))
            case _:
                assert_never(part)
    return deltas
