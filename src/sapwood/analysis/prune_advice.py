"""Advises what to prune, and how many tokens that would free. It changes nothing.

Nothing is counted twice: a result is listed under the first reason that applies, and the tokens of
a chapter do not include results that are listed already.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Literal

from msgspec import Struct

from sapwood.analysis.call_subjects import ResultInView, results_in_view
from sapwood.analysis.chapter_report import ChapterReport
from sapwood.analysis.session import Session
from sapwood.analysis.session_search import turns_about
from sapwood.core.history_size import size_of
from sapwood.core.token_count import Counter

PruneReason = Literal["superseded read", "test output", "large result", "chapter"]

_LARGE = 2_000
_VERBOSE = 300
_NEWEST_TURNS = 2
"""The newest turns in view are probably still needed."""


class Prunable(Struct, frozen=True):
    """Something that could be pruned, its turns, and its tokens."""

    reason: PruneReason
    what: str
    turns: tuple[int, ...]
    tokens: int
    exact: bool = False


class PruneAdvice(Struct, frozen=True):
    """Everything that could be pruned: stale results, then chapters, the largest first.

    `frees` is the sum of the tokens.
    """

    items: tuple[Prunable, ...] = ()
    frees: int = 0
    exact: bool = False


def advise_pruning(
    session: Session,
    counter: Counter,
    report: ChapterReport,
    background: Sequence[str] = (),
    archived: Collection[str] = (),
) -> PruneAdvice:
    """Returns what could be pruned from the view: stale results, and what is off the task.

    `background` are topics out of focus, and `archived` those that have an archive already, in
    lower case.
    """
    results = list(results_in_view(session, counter))
    reasons = _reasons(results, _newest(session), _size_in_view(session, counter) // 2)
    items = [
        Prunable(reason, result.subject, (result.turn,), result.tokens, counter.exact)
        for result, reason in zip(results, reasons, strict=True)
        if reason is not None
    ]
    freed: dict[int, int] = {}
    for item in items:
        freed[item.turns[0]] = freed.get(item.turns[0], 0) + item.tokens
    names = (*background, *report.archive)
    left = [name for name in names if name.casefold() not in archived]
    items = [*_merged(items), *_chapters(session, counter, report, left, freed)]
    items.sort(key=lambda item: (item.reason == "chapter", -item.tokens))
    return PruneAdvice(tuple(items), sum(item.tokens for item in items), counter.exact)


def _size_in_view(session: Session, counter: Counter) -> int:
    numbers = [session.numbers[index] for index in session.indexes_in_view]
    return sum(size_of(turn, counter).tokens for turn in session.numbered(*numbers))


def _newest(session: Session) -> set[int]:
    numbers = session.numbers
    return {numbers[index] for index in session.indexes_in_view[-_NEWEST_TURNS:]}


def _reasons(
    results: Sequence[ResultInView], newest: set[int], half: int
) -> list[PruneReason | None]:
    """Returns the reason to prune each result, or None; later results decide first.

    `half` is half of what is in view: a result larger than that is named in the newest turns too.
    """
    repeated: set[tuple[str, str]] = set()
    reasons: list[PruneReason | None] = []
    for result in reversed(results):
        key = (result.kind, result.subject)
        recent = result.turn in newest and result.tokens <= half
        reasons.append(_reason(result, key in repeated, recent))
        repeated.add(key)
        if result.kind == "written":
            repeated.add(("read", result.subject))
    return reasons[::-1]


def _reason(result: ResultInView, is_repeated: bool, is_recent: bool) -> PruneReason | None:
    if result.kind == "read" and is_repeated:
        return "superseded read"
    is_verbose = result.kind == "test" and result.tokens >= _VERBOSE
    if is_verbose and (is_repeated or not result.failed):
        return "test output"
    if result.tokens >= _LARGE and not is_recent:
        return "large result"
    return None


def _merged(items: Iterable[Prunable]) -> list[Prunable]:
    """Merges the entries with the same reason and subject."""
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


def _chapters(
    session: Session,
    counter: Counter,
    report: ChapterReport,
    names: Sequence[str],
    freed: dict[int, int],
) -> list[Prunable]:
    """Returns these chapters, with the turns in view that none before them has."""
    numbers = session.numbers
    left = {numbers[index] for index in session.indexes_in_view} - _newest(session)
    found: list[Prunable] = []
    for name in dict.fromkeys(names):
        turns = tuple(turn for turn in turns_on(name, session, report) if turn in left)
        left -= set(turns)
        tokens = sum(size_of(turn, counter).tokens for turn in session.numbered(*turns))
        tokens -= sum(freed.get(turn, 0) for turn in turns)
        if tokens > 0:
            found.append(Prunable("chapter", name, turns, tokens, counter.exact))
    return found


def turns_on(topic: str, session: Session, report: ChapterReport) -> tuple[int, ...]:
    """The numbers of a chapter's turns; without a chapter of that name, of turns with its words."""
    chapter = report.named(topic)
    if chapter is not None:
        return tuple(turn for a, b in chapter.spans for turn in range(a, b + 1))
    return turns_about(session, topic)
