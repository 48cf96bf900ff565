"""Counts add up honestly, and are shown in one way."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.core.counting import ZERO, Count, show

counts = st.builds(Count, st.integers(0, 10**8), exact=st.booleans())


def number(shown: str) -> float:
    """What a reader takes a shown count to be."""
    digits = shown.removeprefix("~")
    return float(digits.rstrip("kM")) * {"k": 1e3, "M": 1e6}.get(digits[-1], 1)


@given(counts, counts)
def test_a_sum_is_exact_only_if_both_parts_are(a: Count, b: Count) -> None:
    assert a + b == Count(a.tokens + b.tokens, exact=a.exact and b.exact)


@given(counts)
def test_nothing_added_changes_nothing(count: Count) -> None:
    assert count + ZERO == ZERO + count == count


@pytest.mark.parametrize(
    ("tokens", "shown"),
    [
        (0, "0"),
        (950, "950"),
        (999, "999"),
        (1_000, "1.0k"),
        (1_834, "1.8k"),
        (9_200, "9.2k"),
        (9_949, "9.9k"),
        (9_950, "10k"),
        (77_123, "77k"),
        (99_500, "100k"),
        (999_499, "999k"),
        (999_500, "1.0M"),
        (1_240_000, "1.2M"),
        (12_600_000, "13M"),
    ],
)
def test_a_count_is_shown_short(tokens: int, shown: str) -> None:
    assert show(Count(tokens, exact=True)) == shown
    assert show(Count(tokens, exact=False)) == f"~{shown}"


@given(counts)
def test_a_tilde_marks_an_estimate_and_nothing_else(count: Count) -> None:
    assert show(count).startswith("~") is not count.exact


@given(counts)
def test_a_shown_count_has_at_most_three_digits(count: Count) -> None:
    assert re.fullmatch(r"~?(\d{1,3}|\d\.\d[kM]|\d{2,3}[kM])", show(count))


@given(st.integers(0, 10**8), st.integers(0, 10**8))
def test_a_larger_count_never_shows_as_less(a: int, b: int) -> None:
    less, more = sorted((a, b))
    assert number(show(Count(less, exact=True))) <= number(show(Count(more, exact=True)))


@given(st.integers(1, 10**8))
def test_what_is_shown_is_within_five_percent(tokens: int) -> None:
    assert number(show(Count(tokens, exact=True))) == pytest.approx(tokens, rel=0.05)
