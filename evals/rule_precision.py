"""The precision of each rule that finds decisions.

A rule is shown to users only while its precision is at least the limit, on the sessions of
strangers and on those that no rule was tuned on. A line that counts neither way is left out.
"""

from collections.abc import Iterator

from evals.labels import read_set
from evals.quoted_labels import QuotedSet, read_quoted
from evals.quoted_scores import found_of, matches
from evals.scores import Score, match_labels
from sapwood.analysis.ledger.entries import Decision
from sapwood.analysis.ledger.ledger_builder import ledger_of

_SETS = ("strangers", "held out")
Judged = tuple[str, bool]
"""A rule, and whether a line that it found is right."""


def rule_of(entry: Decision) -> str:
    """The rule that found a decision."""
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
        found = ledger_of(each.session).decisions
        texts = [(f"{entry.about} {entry.text}".strip(), entry.turn) for entry in found]
        _, pairs, wrong, _ = match_labels(each.labels.decisions, texts)
        neither = {place for label, place in pairs if label.optional}
        for place, entry in enumerate(found):
            if place not in neither:
                yield rule_of(entry), place not in wrong


def _by_quotes(chosen: QuotedSet) -> Iterator[Judged]:
    for each in read_quoted(chosen):
        found, labels = ledger_of(each.session).decisions, each.labels
        result = matches(labels.decisions, labels.neither, [found_of(entry) for entry in found])
        for place, entry in enumerate(found):
            if place not in result.neither:
                yield rule_of(entry), place not in result.wrong
