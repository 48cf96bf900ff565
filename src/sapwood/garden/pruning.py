"""What could be forgotten, and how many tokens that would free. It only advises.

Nothing is counted twice: a result belongs to the first reason for which it could go, and a topic
frees what its results did not free already.
"""

from collections.abc import Iterable, Sequence
from typing import Literal

from msgspec import Struct

from sapwood.core.counting import Counter
from sapwood.core.measure import size_of
from sapwood.core.session import Session
from sapwood.garden.drift import Drift
from sapwood.garden.results import SeenResult, results_in_view

__all__ = ["Advice", "Prunable", "Reason", "advise"]

Reason = Literal["superseded read", "test output", "large result", "topic"]

_LARGE = 2_000
_VERBOSE = 300
_AT_WORK = 2
"""The newest turns in view: what they hold is probably still needed."""


class Prunable(Struct, frozen=True):
    """Something that could be forgotten, the turns that hold it, and the tokens it takes."""

    reason: Reason
    what: str
    turns: tuple[int, ...]
    tokens: int
    exact: bool = False


class Advice(Struct, frozen=True):
    """Everything that could be forgotten, the largest first. `frees` is the sum."""

    items: tuple[Prunable, ...] = ()
    frees: int = 0
    exact: bool = False


def advise(
    session: Session, counter: Counter, drift: Drift, background: Sequence[str] = ()
) -> Advice:
    """What of a session's view could be forgotten; `background` are topics out of focus."""
    results = list(results_in_view(session, counter))
    reasons = _reasons(results, _newest(session))
    items = [
        Prunable(reason, seen.subject, (seen.turn,), seen.tokens, counter.exact)
        for seen, reason in zip(results, reasons, strict=True)
        if reason is not None
    ]
    freed: dict[int, int] = {}
    for item in items:
        freed[item.turns[0]] = freed.get(item.turns[0], 0) + item.tokens
    items = [*_merged(items), *_topics(session, counter, drift, background, freed)]
    items.sort(key=lambda item: -item.tokens)
    return Advice(tuple(items), sum(item.tokens for item in items), counter.exact)


def _newest(session: Session) -> set[int]:
    numbers = session.numbers
    return {numbers[place] for place in session.places_in_view[-_AT_WORK:]}


def _reasons(results: Sequence[SeenResult], newest: set[int]) -> list[Reason | None]:
    """Why each result could go, judged from the last one back."""
    again: set[tuple[str, str]] = set()
    reasons: list[Reason | None] = []
    for seen in reversed(results):
        key = (seen.about, seen.subject)
        reasons.append(_reason(seen, key in again, newest))
        again.add(key)
        if seen.about == "written":
            again.add(("read", seen.subject))
    return reasons[::-1]


def _reason(seen: SeenResult, again: bool, newest: set[int]) -> Reason | None:
    if seen.about == "read" and again:
        return "superseded read"
    if seen.about == "test" and seen.tokens >= _VERBOSE and (again or not seen.failed):
        return "test output"
    if seen.tokens >= _LARGE and seen.turn not in newest:
        return "large result"
    return None


def _merged(items: Iterable[Prunable]) -> list[Prunable]:
    """One entry for everything of one kind about one thing."""
    found: dict[tuple[str, str], Prunable] = {}
    for item in items:
        key = (item.reason, item.what)
        old = found.get(key)
        found[key] = (
            item
            if old is None
            else Prunable(
                item.reason,
                item.what,
                tuple(dict.fromkeys((*old.turns, *item.turns))),
                old.tokens + item.tokens,
                item.exact,
            )
        )
    return list(found.values())


def _topics(
    session: Session,
    counter: Counter,
    drift: Drift,
    background: Sequence[str],
    freed: dict[int, int],
) -> list[Prunable]:
    """Topics that are out of focus, or that drift recommends to archive."""
    numbers = session.numbers
    in_view = {numbers[place] for place in session.places_in_view} - _newest(session)
    out = {name.casefold() for name in (*background, *drift.archive)}
    found: list[Prunable] = []
    for topic in drift.topics:
        turns = tuple(p.turn for p in drift.turns if p.topic == topic.name and p.turn in in_view)
        tokens = sum(size_of(turn, counter).tokens for turn in session.numbered(*turns))
        tokens -= sum(freed.get(turn, 0) for turn in turns)
        if topic.name.casefold() in out and tokens > 0:
            found.append(Prunable("topic", topic.name, turns, tokens, counter.exact))
    return found
