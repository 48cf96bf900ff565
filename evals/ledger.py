"""The eval of the ledger: files, outcomes, failures, decisions.

Counting keywords is the simple rule for comparison: every path in a call is a changed file, output
with the word 'error' is a failure, and sentences with certain words are decisions.
"""

from collections.abc import Callable, Sequence

from msgspec import Struct

from evals.keyword_baseline import keyword_ledger
from evals.labels import SETS, LabelledSession, read_set
from evals.quoted_ledger import print_quoted
from evals.rule_precision import print_rules
from evals.scores import Score, compare, match_labels
from sapwood.analysis.ledger.entries import Ledger
from sapwood.analysis.ledger.ledger_builder import ledger_of
from sapwood.analysis.session import Session

FILES_LIMIT = 0.98
PRECISION = 0.80
"""The least precision of each rule for decisions, on the strangers and held out."""


class Scores(Struct, frozen=True):
    """The scores of some sessions."""

    files: Score = Score()
    outcomes: Score = Score()
    failing: Score = Score()
    decisions: Score = Score()
    reversals: Score = Score()
    requests: Score = Score()

    def __add__(self, other: "Scores") -> "Scores":
        return Scores(*(getattr(self, n) + getattr(other, n) for n in self.__struct_fields__))


def main(argv: list[str]) -> int:
    """Prints the scores of each session and set. Returns 1 if a total is below its limit."""
    failed = 0
    for chosen in SETS:
        labelled = read_set(chosen)
        print(f"\n{chosen.replace('_', ' ')}")
        print(f"{'':<30}{'files':>7}{'outcomes':>10}{'failing':>9}{'decisions':>14}")
        print(f"{'':<30}{'F1':>7}{'F1':>10}{'F1':>9}{'P / R':>14}")
        for each in labelled:
            print_row(each.name, scores_of([each], ledger_of))
            if "--misses" in argv and chosen == "tuned":
                print_misses(each)
        total = scores_of(labelled, ledger_of)
        print_row("keyword counting", scores_of(labelled, keyword_ledger))
        print_row("SAPWOOD", total)
        print(
            f"reversed decisions: {total.reversals.right} of {_all(total.reversals)} found, "
            f"{total.reversals.wrong} made up; last request: {total.requests.recall:.2f}"
        )
        failed += is_below_limits(total)
    print(f"\nlimits: files and outcomes F1 {FILES_LIMIT}; decisions by rule, below")
    failed += print_quoted(misses="--misses" in argv)
    failed += print_rules(PRECISION)
    return int(failed > 0)


def is_below_limits(scores: Scores) -> bool:
    """Whether a figure is below its limit."""
    return min(scores.files.f1, scores.outcomes.f1) < FILES_LIMIT or scores.requests.recall < 1


def scores_of(labelled: Sequence[LabelledSession], read: Callable[[Session], Ledger]) -> Scores:
    """Returns the sum of the scores of the sessions."""
    return sum((_scores(each, read(each.session)) for each in labelled), Scores())


def _scores(each: LabelledSession, ledger: Ledger) -> Scores:
    labels = each.labels
    decisions, pairs, _, _ = match_labels(
        labels.decisions, [(d.text, d.turn) for d in ledger.decisions]
    )
    reversals = [(label, ledger.decisions[place].reversed_by) for label, place in pairs]
    right = sum(label.reversed_by == got for label, got in reversals if label.reversed_by)
    wanted = sum(label.reversed_by is not None for label in labels.decisions)
    made_up = sum(got is not None and label.reversed_by != got for label, got in reversals)
    optional = {label.command.strip() for label in labels.failing if label.optional}
    return Scores(
        files=compare(_labelled_files(each), _found_files(ledger)),
        outcomes=compare(
            [(c.command.strip(), c.outcome, c.turn) for c in labels.commands],
            [(c.command.strip(), c.outcome, c.turn) for c in ledger.commands],
        ),
        failing=compare(
            [c.command.strip() for c in labels.failing if not c.optional],
            [c.command for c in ledger.failing if c.command not in optional],
        ),
        decisions=decisions,
        reversals=Score(right, made_up, wanted - right),
        requests=compare([labels.last_request.strip()], [ledger.last_request.strip()]),
    )


def _labelled_files(each: LabelledSession) -> list[tuple[str, str]]:
    files = each.labels.files
    kinds = {n: getattr(files, n) for n in files.__struct_fields__}
    return [(kind, file.path) for kind, listed in kinds.items() for file in listed]


def _found_files(ledger: Ledger) -> list[tuple[str, str]]:
    kinds = {n: getattr(ledger.files, n) for n in ledger.files.__struct_fields__}
    return [(kind, file.path) for kind, listed in kinds.items() for file in listed]


def print_row(name: str, scores: Scores) -> None:
    """Prints one row of the table."""
    decisions = f"{scores.decisions.precision:.2f} / {scores.decisions.recall:.2f}"
    print(
        f"{name:<30}{scores.files.f1:>7.3f}{scores.outcomes.f1:>10.3f}{scores.failing.f1:>9.2f}"
        f"{decisions:>14}"
    )


def print_misses(each: LabelledSession) -> None:
    """Prints the errors on a session, for tuning the rules."""
    ledger, labels = ledger_of(each.session), each.labels
    for title, wanted, found in (
        ("file", _labelled_files(each), _found_files(ledger)),
        (
            "command",
            [(c.turn, c.outcome, c.command.strip()) for c in labels.commands],
            [(c.turn, c.outcome, c.command.strip()) for c in ledger.commands],
        ),
        (
            "failing",
            [c.command for c in labels.failing],
            [c.command for c in ledger.failing],
        ),
    ):
        for missing in [w for w in wanted if w not in found]:
            print(f"    {title} missed   {missing}")
        for extra in [f for f in found if f not in wanted]:
            print(f"    {title} made up  {extra}")
    found = [(d.text, d.turn) for d in ledger.decisions]
    _, pairs, extra, missed = match_labels(labels.decisions, found)
    for label in missed:
        print(f"    decision missed   {label.turn}: {label.text}")
    for place in extra:
        print(f"    decision made up  {found[place][1]}: {found[place][0]}")
    for label, place in pairs:
        got = ledger.decisions[place].reversed_by
        if label.reversed_by != got:
            print(f"    reversal {label.reversed_by} not {got}: {label.text}")


def _all(score: Score) -> int:
    return score.right + score.missed
