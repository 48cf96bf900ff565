"""The artifact ledger: what a conversation did, computed from its turns without a model.

Files read, created, changed and deleted, commands and tests run and how they ended, what still
fails, what was decided, which questions are open. A summary forgets these first, so the log itself
tells them.
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
from sapwood.core.ledger.folding import LedgerFold, ledger_of
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
    "ledger_of",
    "render_ledger",
]
