"""The plainest counter."""

import pytest

from sapwood.core.counting import Count
from sapwood.tokens import Chars4Counter


@pytest.mark.parametrize(("text", "tokens"), [("", 0), ("a", 1), ("four", 1), ("fives", 2)])
def test_every_four_characters_are_a_token(text: str, tokens: int) -> None:
    assert Chars4Counter().count(text) == Count(tokens, exact=False)


def test_characters_are_counted_and_not_bytes() -> None:
    assert Chars4Counter().count("一二三四").tokens == 1
