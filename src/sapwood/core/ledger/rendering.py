"""A ledger as a model or a person reads it."""

from collections.abc import Iterable, Sequence

from sapwood.core.ledger.entries import Failing, FileTouched, Ledger, SuiteRun

__all__ = ["render_ledger"]

_MOST = 40
"""Entries of one kind that a rendered ledger holds; the newest are kept."""
_LONGEST = 160


def render_ledger(ledger: Ledger) -> str:
    """The ledger in a few lines; empty when there is nothing to tell.

    >>> from sapwood.core.ledger.entries import Files
    >>> render_ledger(Ledger(Files(created=(FileTouched("a.py"), FileTouched("b.py")))))
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
        ("Commands", [f"{c}{' (failed)' if how == 'failed' else ''}" for c, how in ran.items()]),
        ("Tests", [_tested(run) for run in tested.values()]),
        ("Still failing", [_failing(left) for left in ledger.failing]),
        ("Decisions", [each.text for each in ledger.decisions if each.reversed_by is None]),
        ("Open questions", [each.text for each in ledger.questions]),
    )
    return "\n".join(
        f"{title}: {(' · ' if title in _SENTENCES else ', ').join(_shown(entries))}"
        for title, entries in sections
        if entries
    )


_SENTENCES = frozenset({"Decisions", "Open questions", "Still failing"})


def _paths(files: Iterable[FileTouched]) -> list[str]:
    return [file.path for file in files]


def _tested(run: SuiteRun) -> str:
    counts = [
        f"{run.passed} passed" if run.passed else "",
        f"{run.failed} failed" if run.failed else "",
    ]
    told = ", ".join(filter(None, counts)) or run.outcome
    return f"{run.command} ({told})"


def _failing(left: Failing) -> str:
    why = ", ".join(left.tests) or left.error
    return f"{left.command}: {why}" if why else left.command


def _shown(entries: Sequence[str]) -> list[str]:
    left_out = len(entries) - _MOST
    lines = [_one_line(entry) for entry in entries[-_MOST:]]
    return lines if left_out <= 0 else [f"… {left_out} earlier", *lines]


def _one_line(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= _LONGEST else f"{words[:_LONGEST].rstrip()} […]"
