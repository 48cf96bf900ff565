"""The part of the ledger eval that scores the sessions labelled by quotes."""

from collections.abc import Callable, Sequence

from evals.keyword_baseline import keyword_ledger
from evals.quoted_labels import QUOTED_SETS, QuotedSession, read_quoted
from evals.quoted_scores import QuotedScores, found_of, matches, quoted_scores
from sapwood.analysis.ledger.entries import Ledger
from sapwood.analysis.ledger.ledger_builder import ledger_of
from sapwood.analysis.session import Session

FILES_F1 = 0.95
FAILING_MADE_UP = 1
PRECISION = 0.80
"""The least precision of decisions; their recall is only printed."""
TITLES = {
    "strangers": "strangers (tuned on)",
    "quoted_tuned": "by quotes, tuned on",
    "quoted_held_out": "by quotes, held out (no rule was tuned on them)",
}


def print_quoted(*, misses: bool = False) -> int:
    """Prints the scores of each session and set. Returns how many sets are below the limits."""
    short = 0
    for chosen in QUOTED_SETS:
        labelled = read_quoted(chosen)
        if not labelled:
            continue
        print(f"\n{TITLES[chosen]}")
        print(f"{'':<30}{'files':>7}{'failing':>16}{'decisions':>13}")
        print(f"{'':<30}{'F1':>7}{'found/made up':>16}{'P / R':>13}")
        for each in labelled:
            _print_row(each.name, quoted_total([each], ledger_of))
            if misses and chosen != "quoted_held_out":
                _print_misses(each, ledger_of(each.session))
        _print_row("keyword counting", quoted_total(labelled, keyword_ledger))
        total = quoted_total(labelled, ledger_of)
        _print_row("SAPWOOD", total)
        print(
            f"reversed decisions: {total.reversals.right} of "
            f"{total.reversals.right + total.reversals.missed} found, "
            f"{total.reversals.wrong} made up; decisions from pastes: {total.pasted}; "
            f"not readable alone: {total.unreadable}"
        )
        short += is_short(total)
    print(
        f"\nlimits: files F1 {FILES_F1}, failing made up {FAILING_MADE_UP}, "
        f"decisions P {PRECISION:.2f}, reversals made up 0, from pastes 0"
    )
    return short


def is_short(scores: QuotedScores) -> bool:
    """Whether a figure is below its limit."""
    return (
        scores.files.f1 < FILES_F1
        or scores.failing.wrong > FAILING_MADE_UP
        or scores.reversals.wrong > 0
        or scores.pasted > 0
        or scores.decisions.precision < PRECISION
    )


def quoted_total(
    labelled: Sequence[QuotedSession], read: Callable[[Session], Ledger]
) -> QuotedScores:
    """Returns the sum of the scores of the sessions."""
    return sum((quoted_scores(each, read(each.session)) for each in labelled), QuotedScores())


def _print_row(name: str, scores: QuotedScores) -> None:
    failing = f"{scores.failing.right} / {scores.failing.wrong}"
    decisions = f"{scores.decisions.precision:.2f} / {scores.decisions.recall:.2f}"
    print(f"{name:<30}{scores.files.f1:>7.3f}{failing:>16}{decisions:>13}")


def _print_misses(each: QuotedSession, ledger: Ledger) -> None:
    """Prints what was missed and made up, for tuning the rules."""
    labels = each.labels
    result = matches(labels.decisions, labels.neither, [found_of(d) for d in ledger.decisions])
    for number in result.missed:
        label = labels.decisions[number]
        print(f"    decision missed   {label.turn}: {label.quotes[0]}")
    for place in result.wrong:
        made_up = ledger.decisions[place]
        print(f"    decision made up  {made_up.turn - 1}: {made_up.text}")
