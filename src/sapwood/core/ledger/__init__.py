"""The artifact ledger: what a conversation did, computed from its turns without a model.

Files read, created, changed and deleted, commands and tests run and how they ended, what still
fails, what was decided, which questions are open. A summary forgets these first, so the log itself
tells them.

The rules are imported when they are first used: it takes a while to make all their patterns, and
whoever only wants the words for it, such as a hook, should not wait.
"""

from sapwood.core.ledger.entries import (
    CommandRun,
    Decision,
    Failing,
    Files,
    FileTouched,
    Ledger,
    Outcome,
    Question,
    Speaker,
    SuiteRun,
)

TYPE_CHECKING = False  # that of `typing`, whose import would cost more than all of this
if TYPE_CHECKING:
    from sapwood.core.ledger.folding import LedgerFold, files_of, ledger_of
    from sapwood.core.ledger.rendering import render_ledger

__all__ = [
    "CommandRun",
    "Decision",
    "Failing",
    "FileTouched",
    "Files",
    "Ledger",
    "LedgerFold",
    "Outcome",
    "Question",
    "Speaker",
    "SuiteRun",
    "files_of",
    "ledger_of",
    "render_ledger",
]


if not TYPE_CHECKING:  # so that a type checker still reports a name that does not exist

    def __getattr__(name: str) -> object:
        match name:
            case "LedgerFold" | "files_of" | "ledger_of":
                from sapwood.core.ledger import folding

                return getattr(folding, name)
            case "render_ledger":
                from sapwood.core.ledger.rendering import render_ledger

                return render_ledger
            case _:
                raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
