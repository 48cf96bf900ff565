"""How many of the oldest turns leave."""

from hypothesis import given
from hypothesis import strategies as st

from sapwood.core.decide.trims import turns_to_leave

sizes = st.lists(st.integers(0, 500), min_size=1, max_size=30)
caps = st.integers(1, 3_000)
waters = st.floats(0.01, 1.0)


@given(sizes, caps, waters)
def test_what_stays_fits_the_low_water_mark_or_is_the_newest_turn(
    turns: list[int], cap: int, low_water: float
) -> None:
    left = turns[turns_to_leave(turns, cap, low_water) :]
    assert sum(turns) <= cap or sum(left) <= cap * low_water or len(left) == 1


@given(sizes, caps, waters)
def test_no_more_leave_than_have_to(turns: list[int], cap: int, low_water: float) -> None:
    leaving = turns_to_leave(turns, cap, low_water)
    assert leaving == 0 or sum(turns[leaving - 1 :]) > cap * low_water


@given(sizes, caps)
def test_at_100_percent_it_is_the_plain_rule(turns: list[int], cap: int) -> None:
    expected = 0
    while sum(turns[expected:]) > cap and expected < len(turns) - 1:
        expected += 1
    assert turns_to_leave(turns, cap, 1.0) == expected


@given(sizes)
def test_without_a_cap_all_stay(turns: list[int]) -> None:
    assert turns_to_leave(turns, 0, 0.6) == 0


def test_an_empty_history_stays_empty() -> None:
    assert turns_to_leave([], 10, 0.6) == 0
