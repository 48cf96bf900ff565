"""A counter that remembers counts as the other does, and long texts once."""

import pytest

from sapwood.core.counting import Count
from sapwood.tokens import ExactCounter, FeatureCounter, RememberingCounter
from sapwood.tokens.exact import extra_installed


class Noting:
    """Counts characters, and notes what it was asked."""

    name = "characters"
    exact = True

    def __init__(self) -> None:
        self.asked: list[str] = []

    def count(self, text: str) -> Count:
        self.asked.append(text)
        return Count(len(text), exact=True)


LONG, OTHER = "a long text, sent again with every call " * 3, "another long text " * 8


def test_a_long_text_is_counted_once() -> None:
    noting = Noting()
    counter = RememberingCounter(noting)
    counts = [counter.count(text) for text in (LONG, OTHER, LONG, "short", "short")]
    assert [count.tokens for count in counts] == [len(LONG), len(OTHER), len(LONG), 5, 5]
    assert noting.asked == [LONG, OTHER, "short", "short"]


def test_it_goes_by_the_name_of_the_other_and_counts_the_same() -> None:
    others = [FeatureCounter(), *([ExactCounter("o200k_base")] if extra_installed() else [])]
    for other in others:
        counter = RememberingCounter(other)
        assert (counter.name, counter.exact) == (other.name, other.exact)
        for text in ("", "a", LONG, LONG, "\ud800" * 100, "日本語" * 50):
            assert counter.count(text) == other.count(text)


def test_it_forgets_when_it_remembers_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sapwood.tokens.remembering._MOST", 1)
    noting = Noting()
    counter = RememberingCounter(noting)
    for text in (LONG, OTHER, LONG):
        counter.count(text)
    assert noting.asked == [LONG, OTHER, LONG]
