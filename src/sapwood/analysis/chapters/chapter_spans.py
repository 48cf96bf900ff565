"""Joins the stretches of a session into chapters: a later stretch may return to an earlier one."""

import heapq
from collections.abc import Mapping, Sequence
from itertools import pairwise

from sapwood.analysis.chapters.chapter_borders import (
    Profile,
    find_borders,
    likeness,
    profile,
    word_weights,
)
from sapwood.analysis.chapters.turn_features import TurnFeatures

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
