"""The focus stack says what matters now in a conversation."""

import pytest

from sapwood.analysis.focus import FocusStack, focused, unfocused
from sapwood.core.errors import SapwoodError

NOW = "2026-01-12T10:00:00Z"


def stack(*topics: str, focus: FocusStack | None = None) -> FocusStack:
    made = focus or FocusStack()
    for topic in topics:
        made = focused(made, topic, at=NOW)
    return made


def test_the_newest_topic_is_on_top() -> None:
    made = stack("OAuth", "Refresh tokens")
    assert made.names == ("Refresh tokens", "OAuth")
    assert [each.priority for each in made.topics] == [1, 2]


def test_a_topic_can_take_a_lower_place() -> None:
    made = focused(stack("A", "B"), "C", at=NOW, priority=2)
    assert made.names == ("B", "C", "A")


def test_a_topic_is_in_focus_once_however_it_is_spelt() -> None:
    assert stack("OAuth", "Docs", "  oauth ").names == ("oauth", "Docs")


def test_an_unfocused_topic_goes_to_the_background_and_back() -> None:
    away = unfocused(stack("A", "B"), "a")
    assert away.names == ("B",)
    assert [each.name for each in away.background] == ["A"]
    back = stack("A", focus=away)
    assert back.names == ("A", "B")
    assert back.background == ()


def test_what_is_not_in_focus_cannot_leave_it() -> None:
    with pytest.raises(SapwoodError, match="In focus: OAuth"):
        unfocused(stack("OAuth"), "OAut")
    with pytest.raises(SapwoodError, match="nothing is"):
        unfocused(FocusStack(), "OAuth")


def test_a_topic_needs_a_name() -> None:
    with pytest.raises(SapwoodError, match="needs a name"):
        focused(FocusStack(), " \n", at=NOW)
