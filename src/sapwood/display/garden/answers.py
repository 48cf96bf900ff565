"""The lines of any answer."""

from typing import assert_never

from sapwood.core.ledger import Ledger
from sapwood.display.garden.drift import drift_lines
from sapwood.display.garden.ledger import ledger_lines
from sapwood.garden import Drift

__all__ = ["answer_lines"]


def answer_lines(answer: Ledger | Drift, width: int) -> list[str]:
    """The answer as lines of at most so many columns."""
    match answer:
        case Ledger():
            return ledger_lines(answer, width)
        case Drift():
            return drift_lines(answer, width)
        case _:
            assert_never(answer)
