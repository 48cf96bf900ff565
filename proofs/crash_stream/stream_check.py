"""Compares what a screen showed of an answer with the log, and the calls with the bill."""

import re
from collections.abc import Sequence

from msgspec import Struct

from sapwood.app.connection import connect
from sapwood.core.content import ReplyPart, Text
from sapwood.core.events import (
    ModelCalled,
    Recorded,
    ReplyAdded,
    ReplyLost,
    ReplyStreamed,
    TurnCompleted,
    TurnFailed,
    TurnInterrupted,
    TurnStarted,
)

_ENDS = (TurnCompleted, TurnFailed, TurnInterrupted)


class StoredTurn(Struct):
    """What the log has of one turn."""

    prompt: str
    words: str = ""
    calls: int = 0
    lost: int = 0
    ended: bool = False


def turns_of(events: Sequence[Recorded]) -> list[StoredTurn]:
    """The turns in the events of one agent."""
    turns: list[StoredTurn] = []
    for recorded in events:
        match recorded.event:
            case TurnStarted(_, prompt):
                turns.append(StoredTurn(" ".join(part.text for part in prompt)))
            case ModelCalled(instruction=""):
                turns[-1].calls += 1
            case ReplyStreamed(parts) | ReplyAdded(parts):
                turns[-1].words += _text(parts)
            case ReplyLost(parts):
                turns[-1].lost += 1
                turns[-1].words += _text(parts)
            case event if isinstance(event, _ENDS):
                turns[-1].ended = True
            case _:
                pass
    return turns


async def stored_turn(address: str, name: str) -> StoredTurn | None:
    """The turn whose prompt contains a name; None if there is none yet."""
    connection = await connect(address)
    try:
        for agent in await connection.log.agents(connection.space):
            events = await connection.log.read(connection.space, agent.agent)
            for turn in turns_of(events):
                if f"{name}." in turn.prompt:
                    return turn
    finally:
        await connection.close()
    return None


def missing_characters(name: str, screens: Sequence[str], words: str) -> int:
    """How many characters of an answer were on a screen and are not in the log.

    A word at the end may be shown in part; then its beginning must be in the log.
    """
    shown = {word for screen in screens for word in re.findall(rf"\b{name}\.\w*", screen)}
    stored = set(re.findall(rf"\b{name}\.\w*", words))
    lost = [word for word in shown if not any(each.startswith(word) for each in stored)]
    return sum(map(len, lost))


def _text(parts: Sequence[ReplyPart]) -> str:
    return "".join(part.text for part in parts if isinstance(part, Text)) + "\n"
