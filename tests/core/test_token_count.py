"""Counts add up and are shown in one way; calibration finds the ratio of a model."""

import re

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.core.token_count import ZERO, Calibration, Count, show

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


# Calibration

Pair = tuple[int, int]
anything = st.integers(-(10**9), 10**9)
sizes = st.integers(1_000, 200_000)
ratios = st.floats(0.3, 3.5)
sound = st.tuples(st.integers(1, 10**6), st.integers(1, 10**6))


def learnt(pairs: list[Pair]) -> Calibration:
    calibration = Calibration()
    for estimated, reported in pairs:
        calibration = calibration.observe(estimated, reported)
    return calibration


def test_without_a_report_the_estimate_stands() -> None:
    assert Calibration().apply(1_234) == 1_234


@given(ratios, st.lists(sizes, min_size=1, max_size=40))
def test_a_constant_ratio_is_found_at_the_first_report_and_kept(
    ratio: float, estimates: list[int]
) -> None:
    calibration = learnt([(estimated, round(estimated * ratio)) for estimated in estimates])
    assert calibration.ratio == pytest.approx(ratio, rel=2e-3)
    assert calibration.apply(50_000) == pytest.approx(50_000 * ratio, rel=2e-3)


@given(st.lists(st.tuples(anything, anything)), st.integers(0, 10**6))
def test_no_report_whatsoever_leads_out_of_bounds(pairs: list[Pair], raw: int) -> None:
    assert raw // 4 <= learnt(pairs).apply(raw) <= raw * 4


@given(st.lists(sound), st.integers(-(10**6), 0), sizes)
def test_a_report_of_nothing_teaches_nothing(
    pairs: list[Pair], nothing: int, something: int
) -> None:
    before = learnt(pairs)
    assert before.observe(something, nothing) == before
    assert before.observe(nothing, something) == before


@given(st.lists(sound, max_size=9).flatmap(lambda p: st.tuples(st.just(p), st.permutations(p))))
def test_the_order_of_recent_reports_does_not_matter(
    orders: tuple[list[Pair], list[Pair]],
) -> None:
    first, second = orders
    assert learnt(first).ratio == learnt(second).ratio


@given(ratios, st.lists(sound, min_size=4, max_size=4), st.permutations(range(9)))
def test_four_wrong_reports_among_nine_cannot_move_it_off_the_truth(
    ratio: float, wrong: list[Pair], order: list[int]
) -> None:
    right = [(estimated, round(estimated * ratio)) for estimated in range(10_000, 60_000, 10_000)]
    pairs = right + wrong
    assert learnt([pairs[place] for place in order]).ratio == pytest.approx(ratio, rel=2e-3)


@given(ratios, ratios, st.lists(sizes, min_size=5, max_size=5))
def test_a_model_that_changed_is_followed_after_five_requests(
    before: float, after: float, estimates: list[int]
) -> None:
    old = learnt([(10_000, round(10_000 * before))] * 20)
    for estimated in estimates:
        old = old.observe(estimated, round(estimated * after))
    assert old.ratio == pytest.approx(after, rel=2e-3)


@given(st.lists(sound, max_size=12), sound)
def test_it_is_the_same_after_being_stored(pairs: list[Pair], next_: Pair) -> None:
    kept = learnt(pairs)
    stored = msgspec.json.decode(msgspec.json.encode(kept), type=Calibration)
    assert stored.observe(*next_) == kept.observe(*next_)


@given(st.lists(sound, max_size=100))
def test_it_stays_small(pairs: list[Pair]) -> None:
    assert len(msgspec.json.encode(learnt(pairs))) < 250
