"""What a ledger holds: files, commands, test runs, what fails, decisions, questions.

Values that encode to JSON as they stand: field names are those that people read. Turns are counted
from 1.
"""

from typing import Literal

from msgspec import Struct

__all__ = [
    "CommandRun",
    "Decision",
    "Failing",
    "FileTouched",
    "Files",
    "Ledger",
    "Outcome",
    "Question",
    "Speaker",
    "SuiteRun",
]

Outcome = Literal["ok", "failed", "unknown"]
Speaker = Literal["user", "model"]


class FileTouched(Struct, frozen=True):
    """A file, and how many lines were added to it and removed from it, where that is known."""

    path: str
    added: int | None = None
    removed: int | None = None


class Files(Struct, frozen=True):
    """Files by what became of them.

    `read` are all that were read. The other three compare the end with the beginning, as a
    version control system would: a file that was created and then changed was created.
    """

    read: tuple[FileTouched, ...] = ()
    created: tuple[FileTouched, ...] = ()
    changed: tuple[FileTouched, ...] = ()
    deleted: tuple[FileTouched, ...] = ()


class CommandRun(Struct, frozen=True):
    """A command line that ran, and how it ended."""

    command: str
    outcome: Outcome
    exit_code: int | None
    turn: int


class SuiteRun(Struct, frozen=True):
    """A run of tests: by which runner, and how many passed and failed, where it said so."""

    command: str
    runner: str
    outcome: Outcome
    passed: int | None
    failed: int | None
    turn: int


class Failing(Struct, frozen=True):
    """A command that failed and was not seen to succeed later.

    `tests` are those that it named as failing, `error` is the line that says why.
    """

    command: str
    turn: int
    exit_code: int | None = None
    tests: tuple[str, ...] = ()
    error: str = ""


class Decision(Struct, frozen=True):
    """What was decided, in the words it was said, and the turn that took it back, if one did.

    `about` is the question or the proposal that a short answer settled.
    """

    text: str
    turn: int
    by: Speaker
    reversed_by: int | None = None
    about: str = ""


class Question(Struct, frozen=True):
    """A question that nobody has answered."""

    text: str
    turn: int
    by: Speaker


class Ledger(Struct, frozen=True):
    """What a conversation did, said by its own log."""

    files: Files = Files()
    commands: tuple[CommandRun, ...] = ()
    tests: tuple[SuiteRun, ...] = ()
    failing: tuple[Failing, ...] = ()
    decisions: tuple[Decision, ...] = ()
    questions: tuple[Question, ...] = ()
    last_request: str = ""
