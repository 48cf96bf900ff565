"""How people name turns."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.core.turn_numbers import TurnPlace, in_words, parse_place


@pytest.mark.parametrize(
    ("typed", "place"),
    [
        ("3", TurnPlace(3, 3)),
        ("#3", TurnPlace(3, 3)),
        (" 3 ", TurnPlace(3, 3)),
        ("4-9", TurnPlace(4, 9)),
        ("4.2", TurnPlace(4, 4, 2)),
        ("review/3", TurnPlace(3, 3, agent="review")),
        ("a/b/4-9", TurnPlace(4, 9, agent="a/b")),
        ("m423z2zn2j/4.2", TurnPlace(4, 4, 2, "m423z2zn2j")),
    ],
)
def test_a_place_is_read(typed: str, place: TurnPlace) -> None:
    assert parse_place(typed) == place


@pytest.mark.parametrize(
    "typed",
    ["", "0", "-1", "9-4", "4.0", "4-9.2", "4.2.1", "/3", "a/", "a:3", "٣", "3 4", "1" * 19],
)
def test_other_words_are_no_place(typed: str) -> None:
    assert parse_place(typed) is None


@given(st.integers(1, 10**17), st.integers(0, 99), st.integers(0, 99), st.text("ab/-.3"))
def test_a_place_is_read_as_it_is_written(first: int, more: int, result: int, agent: str) -> None:
    place = TurnPlace(first, first + more, 0 if more else result, agent)
    assert parse_place(str(place)) == place


def test_consecutive_numbers_are_joined() -> None:
    assert in_words([]) == ""
    assert in_words([2]) == "2"
    assert in_words([1, 2, 3, 5, 8, 9]) == "1-3, 5, 8-9"
