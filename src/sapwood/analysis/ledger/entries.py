"""The entries of a ledger: files, commands, test runs, failures, decisions, questions.

These values are printed as JSON, so their field names are part of the output. Turns are counted
from 1.
"""

from typing import Literal

from msgspec import Struct

Outcome = Literal["ok", "failed", "unknown"]
Speaker = Literal["user", "model"]
EntrySource = Literal["derived", "judged", "declared"]
"""Whether rules found an entry, a model judged it, or somebody declared it in a note."""


class FileTouched(Struct, frozen=True):
    """A file, and the number of lines added and removed, if known."""

    path: str
    added: int | None = None
    removed: int | None = None


class Files(Struct, frozen=True):
    """Files by their final state.

    `read` are all files that were read. The other three compare the end with the beginning, as
    version control does: a file that was created and then changed is created.
    """

    read: tuple[FileTouched, ...] = ()
    created: tuple[FileTouched, ...] = ()
    changed: tuple[FileTouched, ...] = ()
    deleted: tuple[FileTouched, ...] = ()


class CommandRun(Struct, frozen=True):
    """A command line that ran, and its outcome."""

    command: str
    outcome: Outcome
    exit_code: int | None
    turn: int


class SuiteRun(Struct, frozen=True):
    """A test run: its runner, and how many tests passed and failed, if reported."""

    command: str
    runner: str
    outcome: Outcome
    passed: int | None
    failed: int | None
    turn: int


class Failing(Struct, frozen=True):
    """A command that failed and did not succeed later.

    `tests` are the names of the failed tests, `error` is the line with the error message.
    """

    command: str
    turn: int
    exit_code: int | None = None
    tests: tuple[str, ...] = ()
    error: str = ""


class Decision(Struct, frozen=True):
    """A decision in its original words, and the turn that reversed it, if one did.

    `about` is the question or the proposal that a short answer refers to.
    """

    text: str
    turn: int
    by: Speaker
    reversed_by: int | None = None
    about: str = ""
    source: EntrySource = "derived"


class Question(Struct, frozen=True):
    """A question without an answer, or a matter that the user left open.

    `about` is the question that was asked before the matter was left open.
    """

    text: str
    turn: int
    by: Speaker
    about: str = ""
    source: EntrySource = "derived"


class Ledger(Struct, frozen=True):
    """What a conversation did, computed from its turns."""

    files: Files = Files()
    commands: tuple[CommandRun, ...] = ()
    tests: tuple[SuiteRun, ...] = ()
    failing: tuple[Failing, ...] = ()
    decisions: tuple[Decision, ...] = ()
    questions: tuple[Question, ...] = ()
    last_request: str = ""
