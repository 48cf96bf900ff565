"""Names of things: spaces, agents, commands, and places in a log.

A place in a log never changes, so a reference is enough to share what stands there: a child
refers to its parent's turns by `TurnRef` and copies nothing.
"""

import re
from typing import NewType

from msgspec import Struct

__all__ = ["AgentId", "CommandId", "EventRef", "Space", "TurnRef", "can_be_stored"]

Space = NewType("Space", str)
"""The boundary of isolation. A laptop has one, a hosted service one per tenant."""

AgentId = NewType("AgentId", str)
"""One conversation, unique within its space. Any unique prefix of it serves as a short id."""

CommandId = NewType("CommandId", str)
"""Chosen by whoever gives a command; giving the same one twice acts once."""

_HALF = re.compile("[\ud800-\udfff]")
"""Half of a character, as broken UTF-16 leaves it."""


def can_be_stored(name: str) -> bool:
    """Whether every store can hold this as an id: no null character, and nothing but characters.

    >>> can_be_stored("数据"), can_be_stored("nul\\0"), can_be_stored("half\\ud83c")
    (True, False, False)
    """
    return "\0" not in name and (name.isascii() or not _HALF.search(name))


class EventRef(Struct, frozen=True, array_like=True, gc=False):
    """One event: the agent whose log holds it, and its version there.

    >>> print(EventRef(AgentId("abc123"), 7))
    abc123:7
    """

    agent: AgentId
    version: int

    def __str__(self) -> str:
        return f"{self.agent}:{self.version}"


class TurnRef(Struct, frozen=True, array_like=True, gc=False):
    """One ended turn, as the slice of a log that holds it: versions `first` to `last`.

    Other facts of the agent (mail that arrived, a pin) may stand between the two; they are not
    part of the turn.
    """

    agent: AgentId
    first: int
    last: int

    def __str__(self) -> str:
        return f"{self.agent}:{self.first}"
