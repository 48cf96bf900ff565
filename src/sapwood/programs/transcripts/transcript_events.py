"""The events that a reader makes from the rows of a transcript, and the ids they get in the log.

Each event refers to the row that it comes from by the row's key, which never changes. So everyone
who reads a transcript gives its events the same names.
"""

import hashlib
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Literal

from msgspec import Struct

from sapwood.analysis.session import Boundary
from sapwood.core.content import PromptPart, RecordedReply, RecordedResult
from sapwood.core.ids import AgentId, CommandId

Mask = Callable[[str], str]
"""Masks secrets in a tool result before anything else reads it."""


def unmasked(text: str) -> str:
    """Leaves a tool result as it is: for readers whose results are masked later, or not used."""
    return text


TurnEnding = Literal["open", "completed", "interrupted", "failed"]


class RowRef(Struct, frozen=True, gc=False):
    """A row: its key, the time it was written, and the byte at which it begins."""

    key: str
    at: int
    offset: int


class TranscriptTurn(Struct, frozen=True, gc=False):
    """A turn, from its first row to its last.

    An `open` turn may still grow. When it has ended, the reader emits it again as a whole. `parent`
    is the number of the turn that it follows, counted from 0: -1 if it begins the conversation, and
    None if the rows that say it were not read. `is_own` is true if Sapwood wrote the turn's rows.
    """

    first: RowRef
    last: RowRef
    prompt: tuple[PromptPart, ...]
    items: tuple[RecordedReply | RecordedResult, ...]
    status: TurnEnding
    reason: str = ""
    parent: int | None = None
    is_own: bool = False


class TranscriptCompaction(Struct, frozen=True):
    """A summary replaced the turns before it, or the history was cut to some whole turns.

    `boundary.after` and `boundary.turns` count the turns since the reader began.
    """

    ref: RowRef
    boundary: Boundary


class TranscriptRewind(Struct, frozen=True):
    """The conversation continues from the end of an earlier turn.

    `to` is the number of that turn, counted from 0; -1 is the beginning of the conversation.
    """

    ref: RowRef
    to: int


TranscriptEvent = TranscriptTurn | TranscriptCompaction | TranscriptRewind


class SessionDetails(Struct):
    """What the rows say about the session as a whole; later rows overwrite earlier ones.

    `shown_files` are files that the program showed to the model by itself, each with the number of
    turns before it.
    """

    id: str = ""
    folder: str = ""
    title: str = ""
    model: str = ""
    used: int | None = None
    window: int | None = None
    updated: int = 0
    parent: str = ""
    shown_files: list[tuple[int, str]] = []


_LAST_MOMENT = int(datetime(9999, 12, 30, tzinfo=UTC).timestamp()) * 1_000_000


def microseconds(timestamp: object) -> int:
    """A time in ISO 8601 as microseconds since 1970, 0 for anything else.

    A time before 1970 or in the last days of the year 9999 is 0 too: in another time zone it may
    be in a year that no calendar has.

    >>> microseconds("2026-11-14T22:51:22.426Z")
    1794696682426000
    """
    if not isinstance(timestamp, str):
        return 0
    try:
        when = datetime.fromisoformat(timestamp)
        if when.tzinfo is None:
            when = when.replace(tzinfo=UTC)
        at = int(when.timestamp() * 1_000_000)
        return at if 0 <= at < _LAST_MOMENT else 0
    except (ValueError, OverflowError):
        return 0


# As in the ids of own agents: no vowels and look-alikes.
_LETTERS = "23456789bcdfghjkmnpqrstvwxz"
_LENGTH = 12


def imported_agent_id(source: str, session: str) -> AgentId:
    """The id of the agent that a session of a program becomes.

    >>> imported_agent_id("codex", "01a1dc49-cb32-7ff3-be8a-10d31f7fe650")
    'xwg5z5njtcpq'
    """
    number = int.from_bytes(_digest(source, session), "big")
    letters: list[str] = []
    for _ in range(_LENGTH):
        number, letter = divmod(number, len(_LETTERS))
        letters.append(_LETTERS[letter])
    return AgentId("".join(letters))


def imported_command_id(source: str, session: str, what: str, row: str) -> CommandId:
    """The id of the command that imports a row; `what` names its kind."""
    return CommandId(f"import-{_digest(source, session, what, row).hex()[:32]}")


def _digest(*names: str) -> bytes:
    joined = "\0".join(name.replace("\0", "\0\0") for name in names)
    return hashlib.sha256(joined.encode("utf-8", "replace")).digest()
