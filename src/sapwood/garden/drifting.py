"""Finds the topics of a session and holds them against its task.

`DriftFold` takes turns as they come and keeps only small features of each, so that a growing
session costs its growth; finding the topics anew costs a pass over those.
"""

from collections import Counter as Counts
from collections.abc import Callable, Sequence
from typing import Protocol

from msgspec import Struct

from sapwood.core.counting import Counter
from sapwood.core.ledger.speech.words import content_words
from sapwood.core.measure import size_of
from sapwood.core.session import Session
from sapwood.core.turn import Turn
from sapwood.garden.drift import Drift, Status, TopicShare, TurnPlace
from sapwood.garden.recommending import recommend
from sapwood.garden.topics.features import TurnFeatures, features_of
from sapwood.garden.topics.grouping import grouped
from sapwood.garden.topics.naming import name_of
from sapwood.garden.topics.noise import is_noise
from sapwood.garden.topics.tracking import coverage, on_task, rarity

__all__ = ["NOISE", "DriftFold", "Known", "drift_of"]

NOISE = "unrelated chat"
_DECLARED = 0.5
"""The share of a declared topic's words that its turns have."""


class Known(Protocol):
    """Somebody who remembers the features of turns."""

    def features(self, turn: Turn, find: Callable[[Turn], TurnFeatures]) -> TurnFeatures:
        """Those that are known, else those that are found."""
        ...


def drift_of(
    session: Session, counter: Counter, focus: Sequence[str] = (), known: Known | None = None
) -> Drift:
    """The drift of a session; `focus` are declared topics, the most important first."""
    fold = DriftFold(counter, session.folder, known)
    for turn in session.turns:
        fold.add(turn)
    return fold.drift(session.request, focus)


class _Topic(Struct, frozen=True):
    name: str
    status: Status
    places: tuple[int, ...]
    declared: bool = False


class DriftFold:
    """The drift of a session that grows."""

    def __init__(self, counter: Counter, folder: str = "", known: Known | None = None) -> None:
        self._counter = counter
        self._folder = folder
        self._known = known
        self._turns: list[TurnFeatures] = []
        self._beside: dict[int, int] = {}

    def add(self, turn: Turn) -> None:
        """One more turn. One that only goes on counts with the turn before it."""
        if turn.goes_on and self._turns:
            place, tokens = len(self._turns) - 1, size_of(turn, self._counter).tokens
            self._beside[place] = self._beside.get(place, 0) + tokens
        elif self._known is None:
            self._turns.append(self._features(turn))
        else:
            self._turns.append(self._known.features(turn, self._features))

    def _features(self, turn: Turn) -> TurnFeatures:
        return features_of(turn, self._folder, size_of(turn, self._counter).tokens)

    def drift(self, task: str, focus: Sequence[str] = ()) -> Drift:
        """What the turns so far are about, against the task."""
        topics = _topics(self._turns, focus)
        task = self._task(topics) or task
        of = {place: topic for topic in topics for place in topic.places}
        tokens = [t.tokens + self._beside.get(place, 0) for place, t in enumerate(self._turns)]
        whole = sum(tokens) or 1
        turns = tuple(
            TurnPlace(place + 1, of[place].name, of[place].status)
            for place in range(len(self._turns))
        )
        sizes = {topic.name: sum(tokens[place] for place in topic.places) for topic in topics}
        shares = tuple(
            TopicShare(t.name, sizes[t.name], sizes[t.name] / whole, t.status, t.declared)
            for t in sorted(topics, key=lambda topic: -sizes[topic.name])
        )
        advice = recommend(turns, shares, exact=self._counter.exact)
        return Drift(task, turns, shares, advice.says, advice.topics, advice.tokens)

    def _task(self, topics: Sequence[_Topic]) -> str:
        """What was asked for where the task begins, if small talk comes before it."""
        main = next((topic.places for topic in topics if topic.status == "on-track"), ())
        return "\n".join(self._turns[main[0]].asked) if main and main[0] > 0 else ""


def _topics(turns: Sequence[TurnFeatures], focus: Sequence[str]) -> list[_Topic]:
    noise = _noise(turns)
    task = on_task(turns, noise)
    groups = grouped(turns, task, noise)
    main = tuple(place for place, is_on in enumerate(task) if is_on)
    found = [main, *map(tuple, groups)] if main else list(map(tuple, groups))
    topics: list[_Topic] = []
    for places in found:
        status: Status = "on-track" if places == main else "tangent"
        ours = [turns[place] for place in places]
        declared = _declared(ours, [name for name in focus if name not in {t.name for t in topics}])
        others = [turn for place, turn in enumerate(turns) if place not in set(places)]
        taken = {topic.name.casefold() for topic in topics} | {NOISE}
        name = declared or name_of(ours, others, taken)
        topics.append(
            _Topic(name, "on-track" if declared else status, tuple(places), bool(declared))
        )
    idle = tuple(place for place, is_idle in enumerate(noise) if is_idle)
    return [*topics, _Topic(NOISE, "noise", idle)] if idle else topics


def _noise(turns: Sequence[TurnFeatures]) -> list[bool]:
    """Which turns are small talk. The first that is not sets the task, so one always works."""
    weights = rarity(turns)
    times = Counts(word for turn in turns for word in turn.terms)
    return [is_noise(t, coverage(t, weights, lambda word: times[word] > 1)) for t in turns]


def _declared(turns: Sequence[TurnFeatures], names: Sequence[str]) -> str:
    """The declared topic that these turns are about, if one is."""
    terms = {word for turn in turns for word in turn.terms}
    for name in names:
        words = content_words(name)
        if words and sum(word in terms for word in words) > _DECLARED * len(words):
            return name
    return ""
