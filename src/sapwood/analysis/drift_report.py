"""Finds the topics of a session and compares them with its task.

`DriftBuilder` takes turns one by one and keeps only small features of each. Adding to a session
costs only the new turns; finding the topics again costs one pass over the features.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

from msgspec import Struct

from sapwood.analysis.language.word_stems import content_words
from sapwood.analysis.session import Session
from sapwood.analysis.topic_drift import Drift, TopicShare, TopicStatus, TurnTopic, recommend
from sapwood.analysis.topics.tangents import group_tangents
from sapwood.analysis.topics.topic_names import topic_name
from sapwood.analysis.topics.turn_features import TurnFeatures, features_of
from sapwood.analysis.topics.turn_status import find_noise, on_task
from sapwood.core.history_size import size_of
from sapwood.core.token_count import Counter
from sapwood.core.turn import Turn

__all__ = ["NOISE", "DriftBuilder", "FeatureCache", "drift_of"]

NOISE = "unrelated chat"
_DECLARED_SHARE = 0.5
"""The share of a declared topic's words that its turns must contain."""


class FeatureCache(Protocol):
    """A cache of the features of turns."""

    def features(self, turn: Turn, find: Callable[[Turn], TurnFeatures]) -> TurnFeatures:
        """Returns the cached features of a turn; if there are none, calls `find` and keeps them."""
        ...


def drift_of(
    session: Session, counter: Counter, focus: Sequence[str] = (), cache: FeatureCache | None = None
) -> Drift:
    """Returns the drift of a session; `focus` are declared topics, the most important first."""
    builder = DriftBuilder(counter, session.folder, cache)
    for turn in session.turns:
        builder.add(turn)
    return builder.drift(session.request, focus)


class _Topic(Struct, frozen=True):
    name: str
    status: TopicStatus
    indexes: tuple[int, ...]
    declared: bool = False


class DriftBuilder:
    """Builds the drift of a session from its turns."""

    def __init__(
        self, counter: Counter, folder: str = "", cache: FeatureCache | None = None
    ) -> None:
        self._counter = counter
        self._folder = folder
        self._cache = cache
        self._turns: list[TurnFeatures] = []
        self._continuations: dict[int, int] = {}

    def add(self, turn: Turn) -> None:
        """Adds one more turn. A continuation counts with the turn before it."""
        if turn.goes_on and self._turns:
            index, tokens = len(self._turns) - 1, size_of(turn, self._counter).tokens
            self._continuations[index] = self._continuations.get(index, 0) + tokens
        elif self._cache is None:
            self._turns.append(self._features(turn))
        else:
            self._turns.append(self._cache.features(turn, self._features))

    def _features(self, turn: Turn) -> TurnFeatures:
        return features_of(turn, self._folder, size_of(turn, self._counter).tokens)

    def drift(self, task: str, focus: Sequence[str] = ()) -> Drift:
        """Returns the topics of the turns so far, compared with the task."""
        topics = _topics(self._turns, focus)
        task = self._task(topics) or task
        of = {index: topic for topic in topics for index in topic.indexes}
        tokens = [
            t.tokens + self._continuations.get(index, 0) for index, t in enumerate(self._turns)
        ]
        whole = sum(tokens) or 1
        turns = tuple(
            TurnTopic(index + 1, of[index].name, of[index].status)
            for index in range(len(self._turns))
        )
        sizes = {topic.name: sum(tokens[index] for index in topic.indexes) for topic in topics}
        shares = tuple(
            TopicShare(t.name, sizes[t.name], sizes[t.name] / whole, t.status, t.declared)
            for t in sorted(topics, key=lambda topic: -sizes[topic.name])
        )
        recommended = recommend(turns, shares, exact=self._counter.exact)
        return Drift(
            task, turns, shares, recommended.message, recommended.topics, recommended.tokens
        )

    def _task(self, topics: Sequence[_Topic]) -> str:
        """Returns the first prompt of the task if small talk comes before it, else nothing."""
        main = next((topic.indexes for topic in topics if topic.status == "on-track"), ())
        return "\n".join(self._turns[main[0]].asked) if main and main[0] > 0 else ""


def _topics(turns: Sequence[TurnFeatures], focus: Sequence[str]) -> list[_Topic]:
    noise = find_noise(turns)
    task = on_task(turns, noise)
    groups = group_tangents(turns, task, noise)
    main = tuple(index for index, is_on in enumerate(task) if is_on)
    found = [main, *map(tuple, groups)] if main else list(map(tuple, groups))
    topics: list[_Topic] = []
    for indexes in found:
        status: TopicStatus = "on-track" if indexes == main else "tangent"
        ours = [turns[index] for index in indexes]
        declared = _declared(ours, [name for name in focus if name not in {t.name for t in topics}])
        others = [turn for index, turn in enumerate(turns) if index not in set(indexes)]
        taken = {topic.name.casefold() for topic in topics} | {NOISE}
        name = declared or topic_name(ours, others, taken)
        topics.append(
            _Topic(name, "on-track" if declared else status, tuple(indexes), bool(declared))
        )
    idle = tuple(index for index, is_idle in enumerate(noise) if is_idle)
    return [*topics, _Topic(NOISE, "noise", idle)] if idle else topics


def _declared(turns: Sequence[TurnFeatures], names: Sequence[str]) -> str:
    """Returns the declared topic of these turns, or an empty text."""
    terms = {word for turn in turns for word in turn.terms}
    for name in names:
        words = content_words(name)
        if words and sum(word in terms for word in words) > _DECLARED_SHARE * len(words):
            return name
    return ""
