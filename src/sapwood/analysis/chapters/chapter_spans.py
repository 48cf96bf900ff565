"""Joins the stretches of a session into chapters: a later stretch may return to an earlier one.

Finds the turns that begin a new chapter.

Each turn gets a score from signs that need no understanding: its words against those of the turns
before it (as TextTiling does), words that nobody used before, and the time that passed. The weights
were fitted on labelled sessions, each time without the session that was scored, and rounded;
`just eval chapters` prints the result.
"""

import heapq
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import median

from sapwood.analysis.chapters.turn_features import TurnFeatures

Profile = Mapping[str, float]
"""Words with their weights."""

_THRESHOLD = 1.75
_OTHER_WORDS, _OTHER_WORDS_WIDE, _UNSEEN, _NEW_WORDS = 1.35, 0.6, 0.6, 0.6
_GAP = 0.9
_REFERENCE = -0.7
_MANY_NEW_WORDS = 8
_BEFORE, _NEAR = 3, 2
"""Turns before a turn that it is compared with, in the wide and in the narrow comparison."""
_REACH = _BEFORE + 1
"""How many turns apart two turns of a comparison can be."""
_SHORTEST_PAUSE = 2 * 60 * 1_000_000
"""Microseconds. A gap counts by its ratio to the usual one; one of this length always is usual."""


def word_weights(turns: Sequence[TurnFeatures]) -> dict[str, float]:
    """Returns the weight of each word: high if few turns have it."""
    found = Counter(word for turn in turns for word in turn.terms)
    return {word: math.log(1 + len(turns) / times) for word, times in found.items()}


def profile(turns: Sequence[TurnFeatures], weights: Mapping[str, float]) -> dict[str, float]:
    """Returns the words of some turns, each by how often and how rarely elsewhere it occurs."""
    found: dict[str, float] = {}
    for turn in turns:
        for word, times in turn.terms.items():
            found[word] = found.get(word, 0.0) + math.sqrt(times) * weights[word]
    return found


def likeness(one: Profile, other: Profile) -> float:
    """Returns the cosine of two profiles: 0 without a shared word, 1 for the same words."""
    shared = _product(one, other)
    return shared / math.sqrt(_product(one, one) * _product(other, other)) if shared else 0.0


def find_borders(turns: Sequence[TurnFeatures], times: Sequence[int]) -> list[int]:
    """Returns the indexes of the turns that begin a chapter, the first turn included.

    `times` are the starts of the turns in microseconds, 0 where unknown.
    """
    if not turns:
        return []
    weights = word_weights(turns)
    own = [profile([turn], weights) for turn in turns]
    blocks = _Blocks(own)
    near = _shifts([blocks.likeness(i - _NEAR, i, i + 1) for i in _after(own)])
    wide = _shifts([blocks.likeness(i - _BEFORE, i, i + 2) for i in _after(own)])
    pauses = _pauses(times, len(turns))
    found = [0]
    for index in _after(turns):
        if not turns[index].opens:
            continue
        score = (
            _OTHER_WORDS * near[index - 1]
            + _OTHER_WORDS_WIDE * wide[index - 1]
            + _GAP * pauses[index]
            + _signs(turns, index, weights)
        )
        if score > _THRESHOLD:
            found.append(index)
    return found


def _signs(turns: Sequence[TurnFeatures], index: int, weights: Mapping[str, float]) -> float:
    """What the prompt itself says: its new words, and whether it refers to the turn before."""
    turn, before = turns[index], turns[max(0, index - _NEAR) : index]
    unseen = [word for word in turn.subject if not any(word in each.seen for each in before)]
    whole = sum(weights.get(word, 1.0) for word in turn.subject)
    share = sum(weights.get(word, 1.0) for word in unseen) / whole if whole else 0.0
    return (
        _UNSEEN * share
        + _NEW_WORDS * min(len(unseen) / _MANY_NEW_WORDS, 1.0)
        + _REFERENCE * turn.refers
    )


def _shifts(likenesses: Sequence[float]) -> list[float]:
    """Returns how far each likeness is below the usual one, from -1 to 1."""
    usual = median(likenesses) if likenesses else 0.0
    return [max(-1.0, min(1.0, (usual - each) / (usual + 1e-6))) for each in likenesses]


def _pauses(times: Sequence[int], count: int) -> list[float]:
    """Returns the length of the pause before each turn, from 0 (usual) to 1 (150 times that)."""
    gaps = [
        max(0, times[i] - times[i - 1]) if 0 < i < len(times) and times[i - 1] else 0
        for i in range(count)
    ]
    usual = max(median(gaps), _SHORTEST_PAUSE)
    return [min(1.0, math.log(max(1.0, gap / usual)) / 5) for gap in gaps]


def _after(turns: Sequence[object]) -> range:
    return range(1, len(turns))


def _product(one: Profile, other: Profile) -> float:
    """Returns the sum of the products of the weights of shared words."""
    if one is other:
        return sum(weight * weight for weight in one.values())
    if len(one) > len(other):
        one, other = other, one
    return sum(weight * other[word] for word, weight in one.items() if word in other)


class _Blocks:
    """Compares blocks of adjacent turns by the products of their profiles, each computed once."""

    def __init__(self, profiles: Sequence[Profile]) -> None:
        self._products = [
            [_product(own, profiles[index - back]) for back in range(min(index, _REACH) + 1)]
            for index, own in enumerate(profiles)
        ]

    def likeness(self, start: int, border: int, end: int) -> float:
        """Returns the cosine of the turns before a border and those after it."""
        before = range(max(0, start), border)
        after = range(border, min(end, len(self._products)))
        shared = self._sum(before, after)
        whole = self._sum(before, before) * self._sum(after, after)
        return shared / math.sqrt(whole) if shared else 0.0

    def _sum(self, one: range, other: range) -> float:
        return sum(self._products[max(i, j)][abs(i - j)] for i in one for j in other)


Span = tuple[int, int]
"""The first and the last index of consecutive turns."""

_SAME = 0.2
"""How alike a stretch and an earlier chapter must be."""
_SAME_FILE = 0.1
_BORDER = 0.1
"""How much more alike a stretch must be to the chapter from which a border separates it."""
_MAX_WORDS = 80
"""Words of a stretch that are compared, so that long sessions cost no more a turn."""
_MAX_CHAPTERS = 40
"""Earlier chapters that a stretch is compared with, the newest."""


def find_chapters(turns: Sequence[TurnFeatures], times: Sequence[int]) -> list[list[Span]]:
    """Returns the spans of each chapter, in the order in which the chapters begin."""
    starts = find_borders(turns, times)
    weights = word_weights(turns)
    chapters: list[list[Span]] = []
    profiles: list[dict[str, float]] = []
    files: list[set[str]] = []
    last = -1
    for start, end in pairwise((*starts, len(turns))):
        stretch = turns[start:end]
        words = _largest(profile(stretch, weights))
        touched = {file for turn in stretch for file in turn.files}
        alike = [
            likeness(words, profiles[place])
            + _SAME_FILE * (not touched.isdisjoint(files[place]))
            - _BORDER * (place == last)
            for place in range(max(0, len(chapters) - _MAX_CHAPTERS), len(chapters))
        ]
        place = _earlier(alike, len(chapters))
        if place is None:
            chapters.append([])
            profiles.append({})
            files.append(set())
            place = len(chapters) - 1
        _add_span(chapters[place], (start, end - 1))
        profiles[place] = _largest(_merged(profiles[place], words))
        files[place] |= touched
        last = place
    return chapters


def _earlier(alike: Sequence[float], chapters: int) -> int | None:
    """Returns the place of the chapter that a stretch continues, if one of the last is alike."""
    best = max(alike, default=0.0)
    if best < _SAME:
        return None
    return chapters - len(alike) + alike.index(best)


def _add_span(spans: list[Span], span: Span) -> None:
    """Adds a span; one that follows the last directly makes it longer."""
    if spans and spans[-1][1] + 1 == span[0]:
        spans[-1] = (spans[-1][0], span[1])
    else:
        spans.append(span)


def _merged(one: Mapping[str, float], other: Profile) -> dict[str, float]:
    return {word: one.get(word, 0.0) + other.get(word, 0.0) for word in {**one, **other}}


def _largest(words: Profile) -> dict[str, float]:
    if len(words) <= _MAX_WORDS:
        return dict(words)
    return dict(heapq.nlargest(_MAX_WORDS, words.items(), key=lambda each: (each[1], each[0])))
