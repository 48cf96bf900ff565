"""Builds the chapters of a session from its turns.

`ChapterBuilder` takes turns one by one and keeps only small features of each. Adding to a session
costs only the new turns; finding the chapters again costs one pass over the features.
"""

from collections import Counter as Occurrences
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from msgspec import structs

from sapwood.analysis.chapter_report import (
    Chapter,
    ChapterReport,
    ChapterStatus,
    Said,
    SaidBy,
    is_finished,
    recommendation,
)
from sapwood.analysis.chapters.chapter_names import chapter_name
from sapwood.analysis.chapters.chapter_spans import Span, find_chapters
from sapwood.analysis.chapters.noun_names import word_counts
from sapwood.analysis.chapters.turn_features import TurnFeatures, features_of
from sapwood.analysis.language.word_stems import content_words
from sapwood.analysis.session import Session
from sapwood.core.history_size import size_of
from sapwood.core.token_count import Counter
from sapwood.core.turn import Turn

_DECLARED_SHARE = 0.5
"""The share of a declared topic's words that its chapter must contain."""
_MOST_FILES = 8
_NOTHING = Said()
_LONGEST_NAME = 48
"""Characters; a longer declared goal is a sentence, and no name of a chapter."""


class FeatureCache(Protocol):
    """A cache of the features of turns."""

    def features(self, turn: Turn, find: Callable[[Turn], TurnFeatures]) -> TurnFeatures:
        """Returns the cached features of a turn; if there are none, calls `find` and keeps them."""
        ...


def chapters_of(
    session: Session, counter: Counter, said: Said = _NOTHING, cache: FeatureCache | None = None
) -> ChapterReport:
    """Returns the chapters of a session; `said` is what somebody declared about its subjects."""
    builder = ChapterBuilder(counter, session.folder, cache)
    for index, turn in enumerate(session.turns):
        builder.add(turn, session.times[index] if index < len(session.times) else 0)
    return builder.report(session.request, said)


class ChapterBuilder:
    """Builds the chapters of a session from its turns."""

    def __init__(
        self, counter: Counter, folder: str = "", cache: FeatureCache | None = None
    ) -> None:
        self._counter = counter
        self._folder = folder
        self._cache = cache
        self._turns: list[TurnFeatures] = []
        self._times: list[int] = []
        self._tokens: list[int] = []

    def add(self, turn: Turn, at: int = 0) -> None:
        """Adds one more turn that began `at`. A continuation counts with the turn before it."""
        if turn.goes_on and self._turns:
            self._tokens[-1] += size_of(turn, self._counter).tokens
            return
        find = self._features
        features = find(turn) if self._cache is None else self._cache.features(turn, find)
        self._turns.append(features)
        self._times.append(at)
        self._tokens.append(features.tokens)

    def _features(self, turn: Turn) -> TurnFeatures:
        return features_of(turn, self._folder, size_of(turn, self._counter).tokens)

    def report(self, task: str, said: Said = _NOTHING) -> ChapterReport:
        """Returns the chapters of the turns so far."""
        found = find_chapters(self._turns, self._times)
        words = [word_counts(self._of(spans)) for spans in found]
        declared = _declared(said, words)
        elsewhere = word_counts(self._turns)
        whole = sum(self._tokens) or 1
        chapters: list[Chapter] = []
        taken: set[str] = set()
        for place, spans in enumerate(found):
            name = declared[place][0] if place in declared else ""
            if not name or len(name) > _LONGEST_NAME or name.casefold() in taken:
                name = chapter_name(self._of(spans), elsewhere, taken)
            taken.add(name.casefold())
            chapter = self._chapter(name, spans, whole)
            status, by = self._status(chapter, place, declared, said)
            chapters.append(structs.replace(chapter, status=status, by=by))
        message, largest = recommendation(chapters, exact=self._counter.exact)
        return ChapterReport(
            task,
            tuple(chapters),
            message if chapters else "",
            tuple(each.name for each in largest),
            sum(each.tokens for each in largest),
        )

    def _of(self, spans: Sequence[Span]) -> list[TurnFeatures]:
        return [turn for first, last in spans for turn in self._turns[first : last + 1]]

    def _chapter(self, name: str, spans: Sequence[Span], whole: int) -> Chapter:
        tokens = sum(sum(self._tokens[first : last + 1]) for first, last in spans)
        files = Occurrences(file for turn in self._of(spans) for file in turn.files)
        return Chapter(
            name,
            tuple((first + 1, last + 1) for first, last in spans),
            sum(last - first + 1 for first, last in spans),
            tokens,
            tokens / whole,
            tuple(file for file, _ in files.most_common(_MOST_FILES)),
            tuple(first + 1 for first, _ in spans[1:]),
            self._times[spans[0][0]],
            is_finished([(first + 1, last + 1) for first, last in spans], len(self._turns)),
        )

    def _status(
        self,
        chapter: Chapter,
        place: int,
        declared: Mapping[int, tuple[str, ChapterStatus]],
        said: Said,
    ) -> tuple[ChapterStatus | None, SaidBy | None]:
        """What was said about a chapter; a declaration counts more than a judge."""
        if place in declared:
            return declared[place][1], "declared"
        judged: list[ChapterStatus | None] = [_judged(span, said) for span in chapter.spans]
        if None not in judged:
            status = judged[-1]
            return status, "judged"
        if self._turns[chapter.spans[0][0] - 1].aside:
            return "aside", "announced"
        return None, None


def _judged(span: tuple[int, int], said: Said) -> ChapterStatus | None:
    """What a judge said last of a stretch that contains the span."""
    for judged in reversed(said.judged):
        if judged.first <= span[0] and span[1] <= judged.last:
            return judged.status
    return None


def _declared(
    said: Said, words: Sequence[Mapping[str, float]]
) -> dict[int, tuple[str, ChapterStatus]]:
    """Returns the declared topic of each chapter that has one: the chapter with most of its words.

    Among the chapters of one name, the one where its words occur most often has it.
    """
    found: dict[int, tuple[str, ChapterStatus]] = {}
    topics: list[tuple[str, ChapterStatus]] = [
        *((name, "goal") for name in said.goals),
        *((name, "background") for name in said.background),
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
