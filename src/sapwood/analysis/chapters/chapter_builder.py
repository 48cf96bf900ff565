"""Builds the chapters of a session from its turns.

`ChapterBuilder` takes turns one by one and keeps only small features of each. Adding to a session
costs only the new turns; finding the chapters again costs one pass over the features.
"""

from collections import Counter as Occurrences
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Protocol

from msgspec import structs

from sapwood.analysis.chapter_report import (
    Chapter,
    ChapterReport,
    ChapterStatus,
    DeclaredStatus,
    SaidBy,
    off_task,
    recommendation,
)
from sapwood.analysis.chapters.chapter_spans import Span, find_chapters
from sapwood.analysis.chapters.turn_features import TurnFeatures, features_of
from sapwood.analysis.language.word_stems import content_words
from sapwood.analysis.session import Session
from sapwood.core.history_size import size_of
from sapwood.core.token_count import Counter
from sapwood.core.turn import Turn
from sapwood.core.turn_numbers import turn_words

_DECLARED_SHARE = 0.5
"""The share of a declared topic's words that its chapter must contain."""
_MAX_FILES = 8
_NOTHING = DeclaredStatus()
_MAX_NAME = 48
"""Characters; a longer declared goal is a sentence, and no name of a chapter."""


class FeatureCache(Protocol):
    """A cache of the features of turns."""

    def features(self, turn: Turn, find: Callable[[Turn], TurnFeatures]) -> TurnFeatures:
        """Returns the cached features of a turn; if there are none, calls `find` and keeps them."""
        ...


def chapters_of(
    session: Session,
    counter: Counter,
    declared: DeclaredStatus = _NOTHING,
    cache: FeatureCache | None = None,
) -> ChapterReport:
    """Returns the chapters of a session, without the turns that a rewind left behind.

    `declared` is what somebody declared about its subjects.
    """
    builder = ChapterBuilder(counter, session.folder, cache)
    rewound, numbers = frozenset(session.abandoned), session.numbers
    for index, turn in enumerate(session.turns):
        if index not in rewound:
            at = session.times[index] if index < len(session.times) else 0
            builder.add(turn, at, numbers[index])
    return builder.report(session.request, declared)


class ChapterBuilder:
    """Builds the chapters of a session from its turns."""

    def __init__(
        self, counter: Counter, folder: str = "", cache: FeatureCache | None = None
    ) -> None:
        self._counter = counter
        self._folder = folder
        self._cache = cache
        self._turns: list[TurnFeatures] = []
        self._numbers: list[int] = []
        self._last_numbers: list[int] = []
        self._times: list[int] = []
        self._tokens: list[int] = []

    def add(self, turn: Turn, at: int = 0, number: int | None = None) -> None:
        """Adds one more turn that began `at`. A continuation counts with the turn before it.

        Without a number, it has the one that it has in its conversation.
        """
        if number is None:
            number = turn.number or (self._last_numbers[-1] if self._last_numbers else 0) + 1
        if turn.goes_on and self._turns:
            self._tokens[-1] += size_of(turn, self._counter).tokens
            self._last_numbers[-1] = number
            return
        find = self._features
        features = find(turn) if self._cache is None else self._cache.features(turn, find)
        self._turns.append(features)
        self._numbers.append(number)
        self._last_numbers.append(number)
        self._times.append(at)
        self._tokens.append(features.tokens)

    def _features(self, turn: Turn) -> TurnFeatures:
        return features_of(turn, self._folder, size_of(turn, self._counter).tokens)

    def report(self, task: str, declared: DeclaredStatus = _NOTHING) -> ChapterReport:
        """Returns the chapters of the turns so far."""
        found = find_chapters(self._turns, self._times)
        topics = _topics(declared, [_word_counts(self._of(spans)) for spans in found])
        whole = sum(self._tokens) or 1
        chapters: list[Chapter] = []
        taken: set[str] = set()
        for place, spans in enumerate(found):
            name = topics[place][0] if place in topics else ""
            if not name or len(name) > _MAX_NAME or name.casefold() in taken:
                name = self._name(spans, taken)
            taken.add(name.casefold())
            chapter = self._chapter(name, spans, whole)
            status, by = _status(chapter, place, topics, declared)
            chapters.append(structs.replace(chapter, status=status, by=by))
        off = off_task(chapters)
        return ChapterReport(
            task,
            tuple(chapters),
            recommendation(off, exact=self._counter.exact),
            tuple(each.name for each in off),
            sum(each.tokens for each in off),
        )

    def _name(self, spans: Sequence[Span], taken: Collection[str]) -> str:
        """Returns the first words that the user typed in these turns, with the turn if taken.

        A prompt of one or two words ('go on') is passed over if a longer one follows.
        """
        number = self._numbers[spans[0][0]]
        openings = [turn.opening for turn in self._of(spans) if turn.opening]
        if not openings:
            return turn_words(number)
        opening = next((each for each in openings if each.count(" ") > 1), openings[0])
        return opening if opening.casefold() not in taken else f"{opening} ({turn_words(number)})"

    def _of(self, spans: Sequence[Span]) -> list[TurnFeatures]:
        return [turn for first, last in spans for turn in self._turns[first : last + 1]]

    def _chapter(self, name: str, spans: Sequence[Span], whole: int) -> Chapter:
        tokens = sum(sum(self._tokens[first : last + 1]) for first, last in spans)
        files = Occurrences(file for turn in self._of(spans) for file in turn.files)
        numbers = self._numbers
        return Chapter(
            name,
            tuple((numbers[first], self._last_numbers[last]) for first, last in spans),
            sum(last - first + 1 for first, last in spans),
            tokens,
            tokens / whole,
            tuple(file for file, _ in files.most_common(_MAX_FILES)),
            tuple(numbers[first] for first, _ in spans[1:]),
            self._times[spans[0][0]],
        )


def _status(
    chapter: Chapter,
    place: int,
    topics: Mapping[int, tuple[str, ChapterStatus]],
    declared: DeclaredStatus,
) -> tuple[ChapterStatus | None, SaidBy | None]:
    """What was said about a chapter; a declaration counts more than a judge."""
    if place in topics:
        return topics[place][1], "declared"
    judged: list[ChapterStatus | None] = [_judged(span, declared) for span in chapter.spans]
    return (None, None) if None in judged else (judged[-1], "judged")


def _judged(span: tuple[int, int], declared: DeclaredStatus) -> ChapterStatus | None:
    """What a judge said last of a stretch that contains the span."""
    for judged in reversed(declared.judged):
        if judged.first <= span[0] and span[1] <= judged.last:
            return judged.status
    return None


def _word_counts(turns: Iterable[TurnFeatures]) -> dict[str, float]:
    found: dict[str, float] = {}
    for turn in turns:
        for word, weight in turn.terms.items():
            found[word] = found.get(word, 0.0) + weight
    return found


def _topics(
    declared: DeclaredStatus, words: Sequence[Mapping[str, float]]
) -> dict[int, tuple[str, ChapterStatus]]:
    """Returns the declared topic of each chapter that has one: the chapter with most of its words.

    Among the chapters of one name, the one where its words occur most often has it.
    """
    found: dict[int, tuple[str, ChapterStatus]] = {}
    topics: list[tuple[str, ChapterStatus]] = [
        *((name, "goal") for name in declared.goals),
        *((name, "background") for name in declared.background),
    ]
    for name, status in topics:
        stems = set(content_words(name))
        best, place = 0.0, -1
        for index, counts in enumerate(words):
            known = [counts[stem] for stem in stems if stem in counts]
            if index not in found and len(known) > _DECLARED_SHARE * len(stems):
                score = sum(known)
                if score > best:
                    best, place = score, index
        if place >= 0:
            found[place] = name, status
    return found
