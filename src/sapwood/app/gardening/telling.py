"""Any answer as lines, for people and for models that read them over MCP."""

from typing import assert_never

from sapwood.app.gardening.answers import Answer, Archives, Found, Handed, Resumption
from sapwood.core.counting import Count
from sapwood.core.ledger import Ledger
from sapwood.display.garden.advice import advice_lines
from sapwood.display.garden.drift import drift_lines
from sapwood.display.garden.kept import archived_lines, focus_lines, handed_lines, passage_lines
from sapwood.display.garden.ledger import ledger_lines
from sapwood.display.garden.window import breakdown_lines, estimate_lines
from sapwood.garden.drift import Drift
from sapwood.garden.focus import Focus
from sapwood.garden.pruning import Advice
from sapwood.garden.weighing import Breakdown, Estimate

__all__ = ["answer_lines"]


def answer_lines(answer: Answer, width: int) -> list[str]:
    """The answer as lines of at most so many columns, apart from texts that were asked for."""
    match answer:
        case Estimate():
            return estimate_lines(answer, width)
        case Breakdown():
            return breakdown_lines(answer, width)
        case Ledger():
            return ledger_lines(answer, width)
        case Focus():
            return focus_lines(answer, width)
        case Archives():
            return _archives(answer)
        case Resumption():
            return answer.prompt.splitlines()
        case Advice():
            return advice_lines(answer, width)
        case Drift():
            return drift_lines(answer, width)
        case Handed():
            return handed_lines(answer.text, answer.path)
        case Found():
            return passage_lines(answer.hits, width)
        case _:
            assert_never(answer)


def _archives(answer: Archives) -> list[str]:
    lines: list[str] = []
    for made in answer.archives:
        tokens = Count(made.tokens, made.exact)
        lines += archived_lines(made.topic, len(made.turns), tokens, made.path, made.text)
    return lines
