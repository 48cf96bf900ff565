"""The precision of each rule that finds decisions and open questions.

A rule is shown to users only while its precision is at least the limit, on the sessions of
strangers and on those that no rule was tuned on. A line that counts neither way is left out.
"""

from collections.abc import Iterator

from evals.labels import read_set
from evals.quoted_labels import QuotedSet, read_quoted
from evals.quoted_scores import found_of, matches
from evals.scores import Score, match_labels
from sapwood.analysis.ledger.entries import Decision, Question
from sapwood.analysis.ledger.ledger_builder import ledger_of

_SETS = ("strangers", "held out")
Judged = tuple[str, bool]
"""A rule, and whether a line that it found is right."""


def rule_of(entry: Decision | Question) -> str:
    """The rule that found an entry."""
    if isinstance(entry, Question):
        return "left open"
    return "answer" if entry.about else "imperative"


def print_rules(limit: float) -> int:
    """Prints the lines and the precision of each rule. Returns how many are below the limit."""
    found = {"strangers": list(_by_quotes("strangers")), "held out": [*_held_out()]}
    rules = sorted({rule for lines in found.values() for rule, _ in lines})
    print(f"\n{'rule':<14}" + "".join(f"{name:>24}" for name in _SETS))
    short = 0
    for rule in rules:
        scores = [_score(rule, found[name]) for name in _SETS]
        cells = [f"{s.right} of {s.right + s.wrong} ({s.precision:.2f})" for s in scores]
        print(f"{rule:<14}" + "".join(f"{cell:>24}" for cell in cells))
        short += any(each.precision < limit for each in scores)
    print(f"limit: {limit:.2f} in each column")
    return short


def _score(rule: str, lines: list[Judged]) -> Score:
    right = [is_right for name, is_right in lines if name == rule]
    return Score(sum(right), len(right) - sum(right))


def _held_out() -> Iterator[Judged]:
    yield from _by_quotes("quoted_held_out")
    for each in read_set("held_out"):
        ledger = ledger_of(each.session)
        for entries, labels in (
            (ledger.decisions, each.labels.decisions),
            (ledger.questions, each.labels.questions),
        ):
            texts = [(f"{entry.about} {entry.text}".strip(), entry.turn) for entry in entries]
            _, pairs, wrong, _ = match_labels(labels, texts)
            neither = {place for label, place in pairs if label.optional}
            for place, entry in enumerate(entries):
                if place not in neither:
                    yield rule_of(entry), place not in wrong


def _by_quotes(chosen: QuotedSet) -> Iterator[Judged]:
    for each in read_quoted(chosen):
        ledger, labels = ledger_of(each.session), each.labels
        for entries, wanted, neither in (
            (ledger.decisions, labels.decisions, labels.neither),
            (ledger.questions, labels.questions, labels.neither_questions),
        ):
            result = matches(wanted, neither, [found_of(entry) for entry in entries])
            for place, entry in enumerate(entries):
                if place not in result.neither:
                    yield rule_of(entry), place not in result.wrong
