"""The bar of the status line shows what is used, and no more."""

import pytest

from sapwood.core.budget import Budget
from sapwood.core.model_calls import RetryWait
from sapwood.core.token_count import Count
from sapwood.tui.status_bars import budget_bar, wait_line


def _count(tokens: int) -> Count:
    return Count(tokens, exact=True)


def test_the_bar_is_empty_while_nothing_counts_against_the_cap() -> None:
    budget = Budget(_count(900), _count(1_400), _count(0), _count(0), _count(0), 0, 0, 100_000)
    assert "█" not in str(budget_bar(budget, 12))


@pytest.mark.parametrize(("each", "cells"), [(50, 0), (20_000, 1), (250_000, 12)])
def test_the_bar_is_filled_by_the_sum_and_not_by_the_number_of_blocks(
    each: int, cells: int
) -> None:
    size = _count(each)
    budget = Budget(size, size, size, size, _count(0), 1_000_000, 0)
    assert str(budget_bar(budget, 12)).count("█") == cells


@pytest.mark.parametrize(("unreachable", "what"), [(True, "cannot be reached"), (False, "is busy")])
def test_a_wait_says_whether_the_provider_is_busy_or_cannot_be_reached(
    unreachable: bool, what: str
) -> None:
    wait = RetryWait("a", 2.0, 2, 5, unreachable)
    assert wait_line(wait, 1.2) == f"the provider {what}, attempt 2 of 5 in 2 s · esc stops it"
