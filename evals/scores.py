"""Scores: what was found, what was missed and what was made up."""

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence

from msgspec import Struct

from evals.labels import SentenceLabel

_PARENTHESES = re.compile(r"\([^()]*\)")
_WORD = re.compile(r"[a-z0-9][a-z0-9_./%-]*")
_SAME_MEANING = 0.6
_MAX_TURNS_APART = 1


class Score(Struct, frozen=True):
    """The numbers of right, wrong and missed results."""

    right: int = 0
    wrong: int = 0
    missed: int = 0

    def __add__(self, other: "Score") -> "Score":
        return Score(self.right + other.right, self.wrong + other.wrong, self.missed + other.missed)

    @property
    def precision(self) -> float:
        return self.right / (self.right + self.wrong) if self.right + self.wrong else 1.0

    @property
    def recall(self) -> float:
        return self.right / (self.right + self.missed) if self.right + self.missed else 1.0

    @property
    def f1(self) -> float:
        both = 2 * self.right + self.wrong + self.missed
        return 2 * self.right / both if both else 1.0


def compare(wanted: Iterable[Hashable], found: Iterable[Hashable]) -> Score:
    """Returns the score of two collections; repeated values count each time."""
    one, other = Counter(wanted), Counter(found)
    right = (one & other).total()
    return Score(right, other.total() - right, one.total() - right)


def match_labels(
    wanted: Sequence[SentenceLabel], found: Sequence[tuple[str, int]]
) -> tuple[Score, list[tuple[SentenceLabel, int]], list[int], list[SentenceLabel]]:
    """Pairs labels with found sentences of the same meaning, in the same turn or the next.

    Returns the score, the pairs of a label and the index of the found sentence, the indexes of the
    sentences without a label, and the missed labels.
    """
    left = dict(enumerate(found))
    pairs: list[tuple[SentenceLabel, int]] = []
    for label in sorted(wanted, key=lambda each: each.optional):
        likeness = {index: _likeness(label, sentence) for index, sentence in left.items()}
        best = max(likeness, key=lambda index: likeness[index], default=None)
        if best is not None and likeness[best] >= _SAME_MEANING:
            pairs.append((label, best))
            del left[best]
    met = {id(label) for label, _ in pairs}
    missed = [label for label in wanted if id(label) not in met and not label.optional]
    right = sum(not label.optional for label, _ in pairs)
    return Score(right, len(left), len(missed)), pairs, list(left), missed


def _likeness(label: SentenceLabel, sentence: tuple[str, int]) -> float:
    text, turn = sentence
    if abs(turn - label.turn) > _MAX_TURNS_APART:
        return 0.0
    wanted, got = _words(_PARENTHESES.sub("", label.text)), _words(text)
    shared = len(wanted & got)
    return shared / min(len(wanted), len(got)) if wanted and got else 0.0


def _words(text: str) -> set[str]:
    return {word.strip("./-") for word in _WORD.findall(text.lower())}
