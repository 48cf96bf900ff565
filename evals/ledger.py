"""The ledger on labelled sessions: files, outcomes, what fails, decisions, open questions.

Beside it stands what counting keywords finds: every path that a call or a reply names is a file
that was changed, output with an error in it is a failure, sentences with certain words are
decisions, and all with a question mark are open questions.
"""

from collections.abc import Callable, Sequence

from msgspec import Struct

from evals.keywords import keyword_ledger
from evals.labels import SETS, Labelled, read_set
from evals.scoring import Score, compared, paired
from sapwood.core.ledger import Ledger, ledger_of
from sapwood.core.session import Session

__all__ = ["Scores", "main", "scores_of"]

FILES = 0.98
SPEECH = 0.80


class Scores(Struct, frozen=True):
    """The scores of some sessions."""

    files: Score = Score()
    outcomes: Score = Score()
    failing: Score = Score()
    decisions: Score = Score()
    reversals: Score = Score()
    questions: Score = Score()
    requests: Score = Score()

    def __add__(self, other: "Scores") -> "Scores":
        return Scores(*(getattr(self, n) + getattr(other, n) for n in self.__struct_fields__))


def main(argv: list[str]) -> int:
    """Prints the scores of each session and of each set; fails if one of Sapwood's is short."""
    short = 0
    for chosen in SETS:
        labelled = read_set(chosen)
        print(f"\n{chosen.replace('_', ' ')}")
        print(
            f"{'':<30}{'files':>7}{'outcomes':>10}{'failing':>9}{'decisions':>12}{'questions':>12}"
        )
        print(f"{'':<30}{'F1':>7}{'F1':>10}{'F1':>9}{'P / R':>12}{'P / R':>12}")
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
        short += falls_short(total)
    print(f"\nlimits: files and outcomes F1 {FILES}, decisions and questions {SPEECH} each way")
    return int(short > 0)


def falls_short(scores: Scores) -> bool:
    """Whether a figure is under its limit."""
    speech = (scores.decisions, scores.questions)
    return (
        min(scores.files.f1, scores.outcomes.f1) < FILES
        or min(min(each.precision, each.recall) for each in speech) < SPEECH
        or scores.requests.recall < 1
    )


def scores_of(labelled: Sequence[Labelled], read: Callable[[Session], Ledger]) -> Scores:
    """The sums over sessions."""
    return sum((_scores(each, read(each.session)) for each in labelled), Scores())


def _scores(each: Labelled, ledger: Ledger) -> Scores:
    labels = each.labels
    decisions, pairs, _, _ = paired(labels.decisions, [(d.text, d.turn) for d in ledger.decisions])
    turned = [(label, ledger.decisions[place].reversed_by) for label, place in pairs]
    right = sum(label.reversed_by == got for label, got in turned if label.reversed_by)
    wanted = sum(label.reversed_by is not None for label in labels.decisions)
    made_up = sum(got is not None and label.reversed_by != got for label, got in turned)
    questions = paired(labels.questions, [(q.text, q.turn) for q in ledger.questions])[0]
    optional = {label.command.strip() for label in labels.failing if label.optional}
    return Scores(
        files=compared(_labelled_files(each), _found_files(ledger)),
        outcomes=compared(
            [(c.command.strip(), c.outcome, c.turn) for c in labels.commands],
            [(c.command.strip(), c.outcome, c.turn) for c in ledger.commands],
        ),
        failing=compared(
            [c.command.strip() for c in labels.failing if not c.optional],
            [c.command for c in ledger.failing if c.command not in optional],
        ),
        decisions=decisions,
        reversals=Score(right, made_up, wanted - right),
        questions=questions,
        requests=compared([labels.last_request.strip()], [ledger.last_request.strip()]),
    )


def _labelled_files(each: Labelled) -> list[tuple[str, str]]:
    files = each.labels.files
    kinds = {n: getattr(files, n) for n in files.__struct_fields__}
    return [(kind, file.path) for kind, listed in kinds.items() for file in listed]


def _found_files(ledger: Ledger) -> list[tuple[str, str]]:
    kinds = {n: getattr(ledger.files, n) for n in ledger.files.__struct_fields__}
    return [(kind, file.path) for kind, listed in kinds.items() for file in listed]


def print_row(name: str, scores: Scores) -> None:
    """One row of the table."""
    speech = [f"{s.precision:.2f} / {s.recall:.2f}" for s in (scores.decisions, scores.questions)]
    print(
        f"{name:<30}{scores.files.f1:>7.3f}{scores.outcomes.f1:>10.3f}{scores.failing.f1:>9.2f}"
        f"{speech[0]:>14}{speech[1]:>14}"
    )


def print_misses(each: Labelled) -> None:
    """What is wrong on a session, for whoever tunes the rules."""
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
    for title, said, told in (
        ("decision", labels.decisions, [(d.text, d.turn) for d in ledger.decisions]),
        ("question", labels.questions, [(q.text, q.turn) for q in ledger.questions]),
    ):
        _, pairs, extra, missed = paired(said, told)
        for label in missed:
            print(f"    {title} missed   {label.turn}: {label.text}")
        for place in extra:
            print(f"    {title} made up  {told[place][1]}: {told[place][0]}")
        for label, place in pairs:
            got = ledger.decisions[place].reversed_by if title == "decision" else None
            if title == "decision" and label.reversed_by != got:
                print(f"    reversal {label.reversed_by} not {got}: {label.text}")


def _all(score: Score) -> int:
    return score.right + score.missed
