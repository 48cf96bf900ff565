"""Estimated sizes have a tilde wherever they are shown, exact ones have none."""

from sapwood.core.event_texts import event_summary
from sapwood.core.events import ContextTrimmed, Size, TurnCompleted
from sapwood.core.timeline.rows import Divider, divider_label
from sapwood.core.token_count import ESTIMATORS
from sapwood.tokens.estimators import Chars4Counter, FeatureCounter


def test_a_line_of_the_log_marks_estimates() -> None:
    assert event_summary(TurnCompleted(Size(77, "features"))) == "~77 tokens"
    assert event_summary(TurnCompleted(Size(77, "o200k_base"))) == "77 tokens"
    trimmed = ContextTrimmed("window", None, 3, 6, 1834)
    assert event_summary(trimmed) == "window: 3 turns, ~1,834 tokens left behind"
    exact = ContextTrimmed("window", None, 3, 6, 1834, exact=True)
    assert event_summary(exact) == "window: 3 turns, 1,834 tokens left behind"


def test_the_divider_marks_estimates_only() -> None:
    assert divider_label(Divider(3, 1_834)).endswith("~1.8k tokens")
    assert divider_label(Divider(3, 1_834, exact=True)).endswith("· 1.8k tokens")


def test_every_estimator_is_known_by_its_name() -> None:
    assert {FeatureCounter().name, Chars4Counter().name} <= ESTIMATORS
