"""Errands that only look: estimate, breakdown, drift, prune."""

from collections.abc import Sequence

from sapwood.app.gardening.subject import Subject
from sapwood.core.counting import Counter
from sapwood.garden.drift import Drift
from sapwood.garden.drifting import Known, drift_of
from sapwood.garden.focus import Focus, names_in_focus
from sapwood.garden.pruning import Advice, advise
from sapwood.garden.weighing import Breakdown, Estimate, break_down, estimate

__all__ = ["breakdown_of", "drift_in", "estimate_of", "prune_in"]


def estimate_of(subject: Subject, counter: Counter, levels: Sequence[float]) -> Estimate:
    """How full the window is."""
    return estimate(
        subject.session, counter, total=subject.total, beside=subject.beside, levels=levels
    )


def breakdown_of(
    subject: Subject,
    counter: Counter,
    focus: Focus,
    levels: Sequence[float],
    known: Known | None = None,
) -> Breakdown:
    """What fills the window."""
    return break_down(
        subject.session,
        counter,
        drift_in(subject, counter, focus, known),
        total=subject.total,
        beside=subject.beside,
        levels=levels,
    )


def drift_in(subject: Subject, counter: Counter, focus: Focus, known: Known | None = None) -> Drift:
    """The topics, among them those that were declared."""
    return drift_of(subject.session, counter, names_in_focus(focus), known)


def prune_in(
    subject: Subject, counter: Counter, focus: Focus, known: Known | None = None
) -> Advice:
    """What could be forgotten."""
    out = [topic.name for topic in focus.background]
    return advise(subject.session, counter, drift_in(subject, counter, focus, known), out)
