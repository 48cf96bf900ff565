"""Probes: does a summary still hold what the log says mattered?

Drawn from the turns that leave view, without a model: files created and changed, commands that
fail, and the rare words of what the user asked last.
"""

import re
from collections.abc import Sequence

from msgspec import Struct

from sapwood.core.content import Text
from sapwood.core.ledger import Ledger
from sapwood.core.turn import Turn

__all__ = ["Checked", "check_summary", "probes_of"]

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{5,}")
_MOST_FILES = 20
_MOST_WORDS = 5


class Checked(Struct, frozen=True):
    """How much of what mattered a summary holds, from 0 to 1, and what it lacks."""

    score: float
    missing: tuple[str, ...]


def probes_of(turns: Sequence[Turn], ledger: Ledger) -> tuple[str, ...]:
    """What a good summary mentions."""
    touched = (*ledger.files.created, *ledger.files.changed)[-_MOST_FILES:]
    files = [file.path.rsplit("/", 1)[-1] for file in touched]
    failing = [left.command.split()[0] for left in ledger.failing if left.command.split()]
    return tuple(dict.fromkeys([*files, *failing, *_rare_words(turns)]))


def check_summary(summary: str, probes: Sequence[str]) -> Checked:
    """Holds the summary against the probes."""
    if not probes:
        return Checked(1.0, ())
    folded = summary.casefold()
    missing = tuple(probe for probe in probes if probe.casefold() not in folded)
    return Checked(1 - len(missing) / len(probes), missing)


def _rare_words(turns: Sequence[Turn]) -> list[str]:
    """The longest words of the last request: names and terms, rather than filling."""
    asked = next((turn for turn in reversed(turns) if turn.is_request), None)
    if asked is None:
        return []
    text = " ".join(part.text for part in asked.prompt if isinstance(part, Text))
    words = dict.fromkeys(word.rstrip(".-") for word in _WORD.findall(text))
    return sorted(words, key=len, reverse=True)[:_MOST_WORDS]
