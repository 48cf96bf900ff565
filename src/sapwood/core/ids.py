"""Ids and names: of spaces, agents and commands, and of places in logs and transcripts.

A place in a log never changes, so a reference is enough to share its content: a child refers to the
turns of its parent by `TurnRef` and copies nothing.
"""

import re
from typing import NewType

from msgspec import Struct

from sapwood.core.machine_paths import MachinePath

Space = NewType("Space", str)
"""The boundary of isolation. A laptop has one, a hosted service one per tenant."""

AgentId = NewType("AgentId", str)
"""One conversation, unique within its space. Any unique prefix of it serves as a short id."""

CommandId = NewType("CommandId", str)
"""Chosen by the sender of a command. A second command with the same id changes nothing."""

_SURROGATE = re.compile("[\ud800-\udfff]")
"""Half of a character of broken UTF-16, which UTF-8 cannot encode."""

_MAX_TITLE = 40


def can_be_stored(name: str) -> bool:
    """Whether every store can hold this id: it has no null character and no lone surrogate.

    >>> can_be_stored("数据"), can_be_stored("nul\\0"), can_be_stored("half\\ud83c")
    (True, False, False)
    """
    return "\0" not in name and (name.isascii() or not _SURROGATE.search(name))


class EventRef(Struct, frozen=True, array_like=True, gc=False):
    """The place of an event: the agent whose log has it, and its version there.

    >>> print(EventRef(AgentId("abc123"), 7))
    abc123:7
    """

    agent: AgentId
    version: int

    def __str__(self) -> str:
        return f"{self.agent}:{self.version}"


class TurnRef(Struct, frozen=True, array_like=True, gc=False):
    """The place of an ended turn: versions `first` to `last` of an agent's log.

    Other events of the agent (mail, a pin) may be between the two; they are not part of the turn.
    """

    agent: AgentId
    first: int
    last: int

    def __str__(self) -> str:
        return f"{self.agent}:{self.first}"


class Origin(Struct, frozen=True, omit_defaults=True, gc=False):
    """The program of an imported conversation, its id there, and the path of its transcript.

    >>> Origin("claude-code", "4cfa198d-2bff-4ecc-8825-6583da7ea71a").source
    'claude-code'
    """

    source: str
    session: str
    path: MachinePath = ""


class TranscriptRange(Struct, frozen=True, array_like=True, gc=False):
    """The rows of a transcript that belong to a turn: the names of the first and the last row.

    `place` is the byte at which the last row begins; readers look there first.
    """

    first: str
    last: str
    place: int = 0


class TurnPlace(Struct, frozen=True, omit_defaults=True):
    """A turn, the turns `first` to `last`, or one tool result of a turn.

    `result` counts the tool results of the turn from 1; 0 is the whole turn. `agent` is the typed
    name or id of another conversation; '' is the conversation of the command.
    """

    first: int
    last: int
    result: int = 0
    agent: str = ""

    def __str__(self) -> str:
        end = f"-{self.last}" if self.last != self.first else ""
        result = f".{self.result}" if self.result else ""
        return f"{self.agent}{'/' if self.agent else ''}{self.first}{end}{result}"

    @property
    def is_turn(self) -> bool:
        """Whether it is one whole turn."""
        return self.first == self.last and not self.result

    @property
    def numbers(self) -> range:
        """The numbers of the turns."""
        return range(self.first, self.last + 1)


def title_of(text: str) -> str:
    """The beginning of a prompt on one line: the name of an agent that has no other name.

    >>> title_of("Fix the login.\\nIt drops.")
    'Fix the login. It drops.'
    >>> len(title_of("word " * 100))
    40
    """
    line = " ".join(text[:400].split())
    if len(line) <= _MAX_TITLE:
        return line
    return line[: _MAX_TITLE - 1].rstrip() + "…"
