"""The artifact ledger: what a conversation did, computed from its turns without a model.

It lists the files read, created, changed and deleted, the commands and tests with their outcomes,
what still fails, decisions and open questions. Summaries tend to lose these facts.

The rules are imported at first use, because compiling their patterns takes time and a hook often
needs only the values.
"""

from sapwood.analysis.ledger.entries import (
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

TYPE_CHECKING = False  # as in `typing`; importing `typing` would take longer than this module
if TYPE_CHECKING:
    from sapwood.analysis.ledger.entries import render_ledger
    from sapwood.analysis.ledger.ledger_builder import LedgerBuilder, files_of, ledger_of

__all__ = [
    "CommandRun",
    "Decision",
    "Failing",
    "FileTouched",
    "Files",
    "Ledger",
    "LedgerBuilder",
    "Outcome",
    "Question",
    "Speaker",
    "SuiteRun",
    "files_of",
    "ledger_of",
    "render_ledger",
]


if not TYPE_CHECKING:  # hidden from type checkers, so that they report unknown names

    def __getattr__(name: str) -> object:
        match name:
            case "LedgerBuilder" | "files_of" | "ledger_of":
                from sapwood.analysis.ledger import ledger_builder as folding

                return getattr(folding, name)
            case "render_ledger":
                from sapwood.analysis.ledger.entries import render_ledger

                return render_ledger
            case _:
                raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
