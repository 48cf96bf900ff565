"""The entries of a ledger: files, commands, test runs, failures, decisions, questions.

These values are printed as JSON, so their field names are part of the output. Turns are counted
from 1.

Renders a ledger as text for a model or a person.
"""

from collections.abc import Iterable, Sequence
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


class TouchedFiles(Struct, frozen=True):
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
    """A question without an answer, or a matter that was left open, as declared or judged.

    `about` is the question that was asked before the matter was left open.
    """

    text: str
    turn: int
    by: Speaker
    about: str = ""
    source: EntrySource = "derived"


class Ledger(Struct, frozen=True):
    """What a conversation did, computed from its turns."""

    files: TouchedFiles = TouchedFiles()
    commands: tuple[CommandRun, ...] = ()
    tests: tuple[SuiteRun, ...] = ()
    failing: tuple[Failing, ...] = ()
    decisions: tuple[Decision, ...] = ()
    questions: tuple[Question, ...] = ()
    last_request: str = ""


_MAX_ENTRIES = 40
"""The most entries of one kind in the text; the newest are kept."""
_MAX_LENGTH = 160
_SENTENCES = frozenset({"Decisions", "Open questions", "Still failing"})


def render_ledger(ledger: Ledger) -> str:
    """Returns the ledger as a few lines; empty if the ledger is empty.

    >>> from sapwood.analysis.ledger.entries import TouchedFiles
    >>> render_ledger(Ledger(TouchedFiles(created=(FileTouched("a.py"), FileTouched("b.py")))))
    'Files created: a.py, b.py'
    """
    files = ledger.files
    touched = {file.path for file in (*files.created, *files.changed, *files.deleted)}
    tested = {run.command: run for run in ledger.tests}
    ran = {run.command: run.outcome for run in ledger.commands if run.command not in tested}
    sections: tuple[tuple[str, Sequence[str]], ...] = (
        ("Files created", _paths(files.created)),
        ("Files changed", _paths(files.changed)),
        ("Files deleted", _paths(files.deleted)),
        ("Files read", [path for path in _paths(files.read) if path not in touched]),
        (
            "Commands",
            [f"{c}{' (failed)' if outcome == 'failed' else ''}" for c, outcome in ran.items()],
        ),
        ("Tests", [_tested(run) for run in tested.values()]),
        ("Still failing", [_failing(each) for each in ledger.failing]),
        ("Decisions", [_said(each) for each in ledger.decisions if each.reversed_by is None]),
        ("Open questions", [_said(each) for each in ledger.questions]),
    )
    return "\n".join(
        f"{title}: {(' · ' if title in _SENTENCES else ', ').join(_newest(entries))}"
        for title, entries in sections
        if entries
    )


def _said(entry: Decision | Question) -> str:
    """Returns a decision or question after what it answers."""
    return f"{entry.about} → {entry.text}" if entry.about else entry.text


def _paths(files: Iterable[FileTouched]) -> list[str]:
    return [file.path for file in files]


def _tested(run: SuiteRun) -> str:
    counts = [
        f"{run.passed} passed" if run.passed else "",
        f"{run.failed} failed" if run.failed else "",
    ]
    result = ", ".join(filter(None, counts)) or run.outcome
    return f"{run.command} ({result})"


def _failing(failing: Failing) -> str:
    reason = ", ".join(failing.tests) or failing.error
    return f"{failing.command}: {reason}" if reason else failing.command


def _newest(entries: Sequence[str]) -> list[str]:
    left_out = len(entries) - _MAX_ENTRIES
    lines = [_one_line(entry) for entry in entries[-_MAX_ENTRIES:]]
    return lines if left_out <= 0 else [f"… {left_out} earlier", *lines]


def _one_line(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= _MAX_LENGTH else f"{words[:_MAX_LENGTH].rstrip()} […]"
