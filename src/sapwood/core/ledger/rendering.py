"""A ledger as a model or a person reads it."""

from collections.abc import Iterable

from sapwood.core.ledger.entries import FileTouched, Ledger

__all__ = ["render_ledger"]

_MOST = 40
"""Lines of one kind that a rendered ledger holds; the newest are kept."""


def render_ledger(ledger: Ledger) -> str:
    """The ledger in a few lines; empty when there is nothing to tell."""
    files = ledger.files
    touched = {file.path for file in (*files.created, *files.changed, *files.deleted)}
    ended = {run.command: run.outcome for run in ledger.commands}
    sections = (
        ("Files created", _paths(files.created)),
        ("Files changed", _paths(files.changed)),
        ("Files deleted", _paths(files.deleted)),
        ("Files read", tuple(path for path in _paths(files.read) if path not in touched)),
        (
            "Commands",
            tuple(f"{c}{' (failed)' if how == 'failed' else ''}" for c, how in ended.items()),
        ),
    )
    return "\n".join(f"{title}: {', '.join(_shown(lines))}" for title, lines in sections if lines)


def _paths(files: Iterable[FileTouched]) -> tuple[str, ...]:
    return tuple(file.path for file in files)


def _shown(lines: tuple[str, ...]) -> tuple[str, ...]:
    left_out = len(lines) - _MOST
    return lines if left_out <= 0 else (f"… {left_out} earlier", *lines[-_MOST:])
