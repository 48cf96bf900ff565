"""Probes: words that a good summary must contain, to check a summary without a model.

They come from the turns that leave view: created and changed files, commands that fail, and the
longest words of the last request.
"""

import re
from collections.abc import Sequence

from msgspec import Struct

from sapwood.analysis.ledger import Ledger
from sapwood.core.content import Text
from sapwood.core.turn import Turn

__all__ = ["SummaryCheck", "check_summary", "probes_of"]

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{5,}")
_MAX_FILES = 20
_MAX_WORDS = 5


class SummaryCheck(Struct, frozen=True):
    """The share of the probes that a summary contains, from 0 to 1, and the missing ones."""

    score: float
    missing: tuple[str, ...]


def probes_of(turns: Sequence[Turn], ledger: Ledger) -> tuple[str, ...]:
    """Returns the probes for a summary of these turns."""
    touched = (*ledger.files.created, *ledger.files.changed)[-_MAX_FILES:]
    files = [file.path.rsplit("/", 1)[-1] for file in touched]
    failing = [each.command.split()[0] for each in ledger.failing if each.command.split()]
    return tuple(dict.fromkeys([*files, *failing, *_longest_words(turns)]))


def check_summary(summary: str, probes: Sequence[str]) -> SummaryCheck:
    """Returns which probes the summary contains."""
    if not probes:
        return SummaryCheck(1.0, ())
    folded = summary.casefold()
    missing = tuple(probe for probe in probes if probe.casefold() not in folded)
    return SummaryCheck(1 - len(missing) / len(probes), missing)


def _longest_words(turns: Sequence[Turn]) -> list[str]:
    """Returns the longest words of the last request: mostly names and terms."""
    asked = next((turn for turn in reversed(turns) if turn.is_request), None)
    if asked is None:
        return []
    text = " ".join(part.text for part in asked.prompt if isinstance(part, Text))
    words = dict.fromkeys(word.rstrip(".-") for word in _WORD.findall(text))
    return sorted(words, key=len, reverse=True)[:_MAX_WORDS]
