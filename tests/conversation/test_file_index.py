"""The files of a workspace, found by a few letters."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.conversation.mentions import FileIndex

PATHS = [
    "README.md",
    "docs/refunds.md",
    "shop/receipt_format.py",
    "shop/refund.py",
    "tests/test_refund.py",
]


@pytest.mark.parametrize(
    ("typed", "best"),
    [
        ("refund", ["shop/refund.py", "docs/refunds.md", "tests/test_refund.py"]),
        ("REFUND.py", ["shop/refund.py", "tests/test_refund.py"]),
        ("shop/", ["shop/refund.py", "shop/receipt_format.py"]),
        ("shrec", ["shop/receipt_format.py"]),
        ("tref", ["tests/test_refund.py"]),
        ("[x", []),
        ("", ["README.md"]),
    ],
)
def test_names_come_before_parts_and_parts_before_scattered_letters(
    typed: str, best: list[str]
) -> None:
    assert FileIndex(PATHS).best(typed, 3)[: len(best)] == best
    assert bool(best) == bool(FileIndex(PATHS).best(typed, 3))


@given(st.lists(st.text("abc/.^]\\-", min_size=1, max_size=8), unique=True), st.text("abc/^]\\-"))
def test_exactly_the_paths_with_these_letters_in_order_are_found(
    paths: list[str], typed: str
) -> None:
    def has(path: str) -> bool:
        letters = iter(path)
        return all(letter in letters for letter in typed)

    assert sorted(FileIndex(paths).best(typed, 99)) == sorted(filter(has, paths))
