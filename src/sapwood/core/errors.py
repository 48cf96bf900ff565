"""The exceptions of Sapwood.

SapwoodError
├── LogError              the log could not be read or written
│   ├── KeyMissing        a space is encrypted with a key that this program does not have
│   ├── LogUnavailable    its database does not answer; try again when it does
│   │   └── SpaceStopped  a space is about to move to another database; try again in a moment
│   ├── SpaceMoved        another database has the space now
│   └── VersionConflict   another process appended first
├── PluginError           a plug-in is not installed or cannot be loaded
└── RefusedError          a command was refused; `refusal` has the reason and the remedy
    └── AgentNotFound     there is no agent with this id
"""

from typing import TypeVar

from sapwood.core.ids import AgentId
from sapwood.core.refusals import Refusal, UnknownAgent

_Answer = TypeVar("_Answer")


class SapwoodError(Exception):
    """The base class of all errors of Sapwood. The message is written for users.

    >>> try:
    ...     raise LogError("The log is closed. Open it again to go on.")
    ... except SapwoodError as error:
    ...     print(error)
    The log is closed. Open it again to go on.
    """


class LogError(SapwoodError):
    """The log could not be read or written. The message has the cause and what was kept.

    >>> import sapwood
    >>> try:
    ...     with sapwood.open_sync("redis://here") as db:
    ...         pass
    ... except LogError as error:
    ...     print(error)
    There is no store for 'redis://'. Give a path for SQLite, postgresql://… or :memory:.
    """


class KeyMissing(LogError):
    """A space is encrypted with a key that this program does not have. Nothing was changed."""


class LogUnavailable(LogError):
    """The database did not answer in time. Try again when it does."""


class SpaceStopped(LogUnavailable):
    """A space is about to move to another database, or has not arrived. Nothing was changed.

    `interrupted`: nobody continues the move. `arriving`: it is moved to this database, and how long
    that takes is not known here.
    """

    def __init__(self, space: str, *, interrupted: bool = False, arriving: bool = False) -> None:
        where = "this" if arriving else "another"
        if interrupted:
            said = f"A move of the space '{space}' to {where} database was interrupted."
            then = (
                f"Continue it with the same command: sapwood move {space} --to ADDRESS. To abandon "
                "it, add: --take-back"
            )
        else:
            said = f"The space '{space}' is being moved to {where} database."
            then = "Try again in a few seconds."
        super().__init__(f"{said} Nothing was changed. {then}")
        self.arriving = arriving


class SpaceMoved(LogError):
    """Another database has the space now. `cell` is the name of its cell, if it has one."""

    def __init__(self, space: str, cell: str = "") -> None:
        where = f" to the cell '{cell}'" if cell else " to another database"
        super().__init__(
            f"The space '{space}' was moved{where}. Nothing was changed. Use the database that has "
            "it now: --database ADDRESS"
        )
        self.space = space
        self.cell = cell


class VersionConflict(LogError):
    """Another process appended to the log first. Load the agent and decide again."""

    def __init__(self, agent: AgentId, expected: int) -> None:
        super().__init__(f"The log of '{agent}' is no longer at version {expected}.")
        self.agent = agent
        self.expected = expected


class PluginError(SapwoodError):
    """A plug-in is not installed or cannot be loaded. The message names it and what to type."""


class RefusedError(SapwoodError):
    """A command was refused and changed nothing. `refusal` is the reason as a typed value.

    >>> import sapwood
    >>> with sapwood.open_sync(":memory:") as db:
    ...     agent = db.start("demo")
    ...     _ = agent.mark("START")
    ...     try:
    ...         agent.rewind("STRAT")
    ...     except RefusedError as error:
    ...         print(error, error.refusal.close)
    There is no mark 'STRAT'. Did you mean START? Nothing was changed... ('START',)
    """

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.sentence)
        self.refusal = refusal


_Answer = TypeVar("_Answer")


def accepted(answer: _Answer | Refusal) -> _Answer:
    """Returns the answer to a command. Raises `RefusedError` if it is a refusal."""
    if isinstance(answer, Refusal):
        raise RefusedError(answer)
    return answer


class AgentNotFound(RefusedError):
    """There is no agent with exactly this id in the space.

    >>> import sapwood
    >>> with sapwood.open_sync(":memory:") as db:
    ...     _ = db.start(id="chat-421")
    ...     try:
    ...         db.get("chat-42")
    ...     except sapwood.AgentNotFound as error:
    ...         print(error)
    There is no agent 'chat-42'...
    """

    def __init__(self, agent: str) -> None:
        super().__init__(UnknownAgent(agent))
