"""A ledger as people read it."""

from collections.abc import Iterable

from sapwood.core.ledger import CommandRun, Decision, Failing, FileTouched, Ledger, SuiteRun
from sapwood.display.garden.sections import section
from sapwood.display.text import cut
from sapwood.garden.handing import lines_changed

__all__ = ["ledger_lines"]

_NEWEST = 20
_SAID = 400


def ledger_lines(ledger: Ledger, width: int) -> list[str]:
    """Everything that the ledger holds; of commands only the newest."""
    files = ledger.files
    touched = {file.path for file in (*files.created, *files.changed, *files.deleted)}
    read = [file for file in files.read if file.path not in touched]
    lines = [
        *section("Files created", map(_file, files.created), width),
        *section("Files changed", map(_file, files.changed), width),
        *section("Files deleted", map(_file, files.deleted), width),
        *section("Files read", map(_file, read), width),
        *section("Tests", map(_suite, ledger.tests), width),
        *section("Commands", _newest(map(_command, ledger.commands)), width),
        *section("Failing at the end", map(_failing, ledger.failing), width),
        *section("Decisions", map(_decision, ledger.decisions), width),
        *section("Open questions", (f"{q.text} (turn {q.turn})" for q in ledger.questions), width),
        *section(
            "Last request", [cut(ledger.last_request, _SAID)] * bool(ledger.last_request), width
        ),
    ]
    return lines[:-1] or ["Nothing was done yet."]


def _file(file: FileTouched) -> str:
    changed = lines_changed(file.added, file.removed)
    return f"{file.path} ({changed})" if changed else file.path


def _suite(run: SuiteRun) -> str:
    counts = (f"{run.passed} passed" * (run.passed is not None), _failed(run.failed))
    told = ", ".join(filter(None, counts)) or run.outcome
    return f"{cut(run.command, 100)}: {told} (turn {run.turn})"


def _failed(number: int | None) -> str:
    return "" if number is None else f"{number} failed"


def _command(run: CommandRun) -> str:
    code = f", exit code {run.exit_code}" if run.exit_code else ""
    return f"{cut(run.command, 100)}: {run.outcome}{code} (turn {run.turn})"


def _newest(lines: Iterable[str]) -> list[str]:
    found = list(lines)
    left_out = len(found) - _NEWEST
    return found if left_out <= 0 else [f"… {left_out} earlier", *found[-_NEWEST:]]


def _failing(left: Failing) -> str:
    tests = f" Tests: {', '.join(left.tests)}." if left.tests else ""
    error = f" {left.error}" if left.error else ""
    return f"{cut(left.command, 100)} (turn {left.turn}):{error}{tests}".rstrip(":")


def _decision(decision: Decision) -> str:
    back = f", taken back in turn {decision.reversed_by}" if decision.reversed_by else ""
    return f"{decision.text} ({decision.by}, turn {decision.turn}{back})"
