"""A growing sequence is a tuple in everything but its cost."""

import sys
import time

from hypothesis import given
from hypothesis import strategies as st

from sapwood.core.live_path import AppendOnlySequence

STEPS = st.lists(st.tuples(st.integers(0, 20), st.integers()), max_size=40)
BOUND = st.none() | st.integers(-9, 9)


@given(STEPS)
def test_whatever_grows_out_of_whatever_nothing_changes(steps: list[tuple[int, int]]) -> None:
    made: list[tuple[AppendOnlySequence[int], tuple[int, ...]]] = [(AppendOnlySequence[int](), ())]
    for place, item in steps:
        growing, same = made[place % len(made)]
        made.append((growing.plus(item), (*same, item)))
    for growing, same in made:
        assert tuple(growing) == same
        assert growing == same
        assert same == growing
        assert len(growing) == len(same)
        assert list(reversed(growing)) == list(reversed(same))
        assert bool(growing) == bool(same)


@given(st.lists(st.integers(), max_size=8), BOUND, BOUND, st.sampled_from([None, 1, 2, -1, -2]))
def test_parts_are_those_of_a_tuple(
    items: list[int], start: int | None, stop: int | None, step: int | None
) -> None:
    growing = AppendOnlySequence(items).plus(1)
    growing.plus(2)  # what grew out of it must not be seen
    assert growing[start:stop:step] == (*items, 1)[start:stop:step]
    for index in range(-len(growing), len(growing)):
        assert growing[index] == (*items, 1)[index]


def test_growing_costs_the_same_at_any_length() -> None:
    def cost(size: int) -> float:
        growing = AppendOnlySequence([object() for _ in range(size)])
        best = sys.float_info.max
        for _ in range(50):
            began = time.thread_time()
            for _ in range(20):
                growing = growing.plus(None)
            best = min(best, time.thread_time() - began)
        return best

    assert cost(100_000) < 20 * cost(10)
