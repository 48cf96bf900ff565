"""Splits a long sentence into clauses; people who dictate put several decisions into one."""

import re
from collections.abc import Callable, Sequence

_BORDER = re.compile(
    r"(?:;|,|:|\s[–—-])\s+"
    r"|\s(?=(?:and|but|so) (?:i|we|let's|don't|do|use|keep|no|not|never|only|make|leave|it"
    r"|then)\b)",
    re.IGNORECASE,
)
_RETRACTED = re.compile(
    r"(?:hm+,? |well,? |oh,? |ah,? )*(?:no|nah|wait|or wait|scratch that)\b", re.I
)
_LONG = 30
_MAX_WORDS = 34
_MIN_WORDS = 9
_MAX_CLAUSES = 8


def chosen_parts(sentence: str, is_choice: Callable[[str], bool]) -> list[str]:
    """Returns the parts of a long sentence that state choices, with the words around them.

    A choice that the next clause takes back ('no', 'wait') is left out.
    """
    clauses = [clause.strip(" ,") for clause in _BORDER.split(sentence)]
    clauses = [clause for clause in clauses if clause]
    chosen = [
        place
        for place, clause in enumerate(clauses)
        if is_choice(clause)
        and not (place + 1 < len(clauses) and _RETRACTED.match(clauses[place + 1]))
    ]
    spans: list[tuple[int, int]] = []
    for place in chosen:
        start, end = _widened(clauses, place)
        if spans and start < spans[-1][1] and _words(clauses[spans[-1][0] : end]) <= _MAX_WORDS:
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((max(start, spans[-1][1]) if spans else start, end))
    return [", ".join(clauses[start:end]) for start, end in spans if start < end]


def has_chosen_clause(sentence: str, is_choice: Callable[[str], bool]) -> bool:
    """Whether a clause of a short sentence states a choice."""
    clauses = [clause for clause in _BORDER.split(sentence) if clause.strip()]
    return 1 < len(clauses) <= _MAX_CLAUSES and any(map(is_choice, clauses))


def is_long(sentence: str) -> bool:
    """Whether a sentence is too long to be one decision."""
    return sentence.count(" ") >= _LONG


def _widened(clauses: Sequence[str], place: int) -> tuple[int, int]:
    """Adds clauses around one that is too short to be read alone."""
    start, end = place, place + 1
    while _words(clauses[start:end]) < _MIN_WORDS and (start > 0 or end < len(clauses)):
        if start > 0 and (end - place > place - start or end == len(clauses)):
            start -= 1
        elif end < len(clauses):
            end += 1
        else:
            break
    return start, end


def _words(clauses: Sequence[str]) -> int:
    return sum(clause.count(" ") + 1 for clause in clauses)
