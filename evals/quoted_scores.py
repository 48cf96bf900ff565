"""Scores of a ledger against labels with quotes.

A found decision is right if it holds a quote of a label, or is held by it: word for
word, or with seven tenths of the words of the shorter one. The found turn may be one off. One found
sentence may hold two labels. Whatever holds no label and was not judged 'neither' is wrong.
"""

import re
from collections.abc import Sequence

from msgspec import Struct

from evals.quoted_labels import QuotedLabel, QuotedSession
from evals.scores import Score, compare
from sapwood.analysis.ledger.entries import Decision, Failing, Ledger, TouchedFiles
from sapwood.core.content import Text

_WORD = re.compile(r"[^\W_][\w.:/+%-]*")
_SAME = 0.7
_MIN_SHARED = 3
_MAX_TURNS_APART = 1
Found = tuple[int, tuple[str, ...]]
"""The turn, counted from 0, and the texts of a found decision."""


class QuotedScores(Struct, frozen=True):
    """The scores of some sessions. `pasted` counts decisions that were taken from a paste."""

    files: Score = Score()
    failing: Score = Score()
    decisions: Score = Score()
    reversals: Score = Score()
    pasted: int = 0
    unreadable: int = 0

    def __add__(self, other: "QuotedScores") -> "QuotedScores":
        return QuotedScores(*(getattr(self, n) + getattr(other, n) for n in self.__struct_fields__))


class Matches(Struct, frozen=True):
    """Found places by label, those that count neither way, and those that are wrong."""

    by_label: dict[int, list[int]]
    neither: list[int]
    wrong: list[int]
    missed: list[int]

    @property
    def score(self) -> Score:
        right = {place for places in self.by_label.values() for place in places}
        # Precision is by found sentences, recall by labels: the score keeps the labels as `right`.
        wrong = len(self.wrong) * len(self.by_label) / len(right) if right else len(self.wrong)
        return Score(len(self.by_label), round(wrong), len(self.missed))


def quoted_scores(each: QuotedSession, ledger: Ledger) -> QuotedScores:
    """Returns the scores of the ledger of one session."""
    labels = each.labels
    decisions = matches(labels.decisions, labels.neither, [found_of(d) for d in ledger.decisions])
    return QuotedScores(
        file_score(each, ledger.files),
        failing_score(labels.failing, ledger.failing),
        decisions.score,
        reversal_score(labels.decisions, decisions, ledger.decisions),
        sum(is_pasted(each, d) for d in ledger.decisions),
        sum(not is_readable(d) for d in ledger.decisions),
    )


def found_of(entry: Decision) -> Found:
    """Returns a found entry in the form that is compared."""
    return entry.turn - 1, tuple(filter(None, (entry.text, entry.about)))


def matches(
    labels: Sequence[QuotedLabel], neither: Sequence[QuotedLabel], found: Sequence[Found]
) -> Matches:
    """Pairs labels with found sentences."""
    by_label: dict[int, list[int]] = {}
    for number, label in enumerate(labels):
        if places := [place for place, each in enumerate(found) if is_same(label, each)]:
            by_label[number] = places
    right = {place for places in by_label.values() for place in places}
    left = [place for place in range(len(found)) if place not in right]
    allowed = [p for p in left if any(is_same(label, found[p]) for label in neither)]
    missed = [number for number in range(len(labels)) if number not in by_label]
    return Matches(by_label, allowed, [p for p in left if p not in allowed], missed)


def is_same(label: QuotedLabel, found: Found) -> bool:
    """Whether a found sentence holds a quote of a label, or is held by it."""
    turn, texts = found
    if abs(turn - label.turn) > _MAX_TURNS_APART:
        return False
    return any(_is_same_text(quote, text) for quote in label.quotes for text in texts)


def _is_same_text(quote: str, text: str) -> bool:
    wanted, got = _WORD.findall(quote.casefold()), _WORD.findall(text.casefold())
    wanted, got = [w.strip(".:-") for w in wanted], [w.strip(".:-") for w in got]
    if not wanted or not got:
        return False
    short, long = sorted((f" {' '.join(wanted)} ", f" {' '.join(got)} "), key=len)
    if short in long:
        return True
    shared = len(set(wanted) & set(got))
    return shared >= _MIN_SHARED and shared >= _SAME * min(len(set(wanted)), len(set(got)))


def file_score(each: QuotedSession, files: TouchedFiles) -> Score:
    """Compares the files created, changed and deleted; an optional one counts neither way."""
    labels = each.labels.files
    optional = set(labels.optional)

    def rows(kind: str, paths: Sequence[str]) -> list[tuple[str, str]]:
        return [(kind, path) for path in paths if path not in optional]

    wanted = (
        rows("created", labels.created)
        + rows("changed", labels.changed)
        + rows("deleted", labels.deleted)
    )
    found = (
        rows("created", [f.path for f in files.created])
        + rows("changed", [f.path for f in files.changed])
        + rows("deleted", [f.path for f in files.deleted])
    )
    return compare(wanted, found)


def failing_score(labels: Sequence[str], failing: Sequence[Failing]) -> Score:
    """Compares what fails at the end by parts of the commands."""
    left = [each.command for each in failing]
    right = 0
    for label in labels:
        place = next((n for n, command in enumerate(left) if label in command), None)
        if place is not None:
            del left[place]
            right += 1
    return Score(right, len(left), len(labels) - right)


def reversal_score(
    labels: Sequence[QuotedLabel], found: Matches, decisions: Sequence[Decision]
) -> Score:
    """Compares which decisions were reversed; reversing a valid one is made up."""
    reversed_places = {place for place, each in enumerate(decisions) if each.reversed_by}
    right = missed = 0
    known: set[int] = set()
    for number, places in found.by_label.items():
        if labels[number].reversed_by is None:
            continue
        known.update(places)
        got = reversed_places & set(places)
        right, missed = right + bool(got), missed + (not got)
    missed += sum(labels[number].reversed_by is not None for number in found.missed)
    return Score(right, len(reversed_places - known), missed)


def is_pasted(each: QuotedSession, decision: Decision) -> bool:
    """Whether a decision of the user stands in a span that was pasted."""
    if decision.by != "user":
        return False
    said = " ".join(decision.text.casefold().split())
    for span in each.labels.pasted:
        if span.turn != decision.turn - 1:
            continue
        for turn in each.session.numbered(decision.turn):
            prompt = "\n".join(part.text for part in turn.prompt if isinstance(part, Text))
            lines = prompt.split("\n")[span.first_line - 1 : span.last_line]
            if said in " ".join(" ".join(lines).casefold().split()):
                return True
    return False


def is_readable(decision: Decision) -> bool:
    """Whether a decision has three words, or the question that it answers."""
    return bool(decision.about) or len(_WORD.findall(decision.text)) >= _MIN_SHARED
