"""What can go wrong, as exceptions.

SapwoodError
├── LogError              a log could not do what was asked
│   ├── LogAway           its database does not answer; when it is back, the same will do
│   └── VersionConflict   somebody else appended first
└── RefusedError          a command was refused; `refusal` says why and what to do
"""

from sapwood.core.ids import AgentId
from sapwood.core.refusals import Refusal

__all__ = ["LogAway", "LogError", "RefusedError", "SapwoodError", "VersionConflict"]


class SapwoodError(Exception):
    """The base of all errors that Sapwood raises. Its message is fit for a person.

    >>> try:
    ...     raise LogError("The log is closed. Open it again to go on.")
    ... except SapwoodError as error:
    ...     print(error)
    The log is closed. Open it again to go on.
    """


class LogError(SapwoodError):
    """A log could not do what was asked; the message says what happened and what was kept.

    >>> import sapwood
    >>> try:
    ...     with sapwood.open_sync("redis://here") as wood:
    ...         pass
    ... except LogError as error:
    ...     print(error)
    There is no store for 'redis://'. Give a path for SQLite, postgresql://… or :memory:.
    """


class LogAway(LogError):
    """The database did not answer for as long as it was waited for. Try again when it is back."""


class VersionConflict(LogError):
    """Somebody else appended first. Load again and decide again."""

    def __init__(self, agent: AgentId, expected: int) -> None:
        super().__init__(f"The log of '{agent}' is no longer at version {expected}.")
        self.agent = agent
        self.expected = expected


class RefusedError(SapwoodError):
    """A command was refused and changed nothing. `refusal` is the reason as a typed value.

    >>> import sapwood
    >>> with sapwood.open_sync(":memory:") as wood:
    ...     agent = wood.start("demo")
    ...     agent.mark("START")
    ...     try:
    ...         agent.rewind("STRAT")
    ...     except RefusedError as error:
    ...         print(error, error.refusal.close)
    "Marked 'START'."
    There is no mark 'STRAT'. Did you mean START? Nothing was changed... ('START',)
    """

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.sentence)
        self.refusal = refusal
