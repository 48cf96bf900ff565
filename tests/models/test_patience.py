"""When a failed call is made again."""

import pytest

from sapwood.core.calling import Failure, FailureKind
from sapwood.models import Patience

BUSY = Failure("overloaded", "Busy.", again=True)


def test_waits_double_up_to_a_limit() -> None:
    patience = Patience(tries=9, first=1.0, most=6.0)
    assert [patience.wait(BUSY, tried, 1.0) for tried in range(1, 6)] == [1, 2, 4, 6, 6]


def test_chance_shortens_a_wait_by_half_at_most() -> None:
    assert Patience(first=1.0).wait(BUSY, 1, 0.0) == 0.5


def test_the_number_of_tries_is_bounded() -> None:
    patience = Patience(tries=2)
    assert patience.wait(BUSY, 1, 0.0) is not None
    assert patience.wait(BUSY, 2, 0.0) is None


def test_what_the_provider_asks_for_is_waited() -> None:
    failure = Failure("overloaded", "Busy.", again=True, after=7.0)
    assert Patience().wait(failure, 1, 0.0) == 7.0


def test_a_provider_that_asks_for_too_long_is_not_waited_for() -> None:
    failure = Failure("overloaded", "Busy.", again=True, after=3600.0)
    assert Patience().wait(failure, 1, 0.0) is None


@pytest.mark.parametrize("kind", ["bad_key", "no_model", "too_long", "refused", "other"])
def test_what_stays_wrong_is_not_tried_again(kind: FailureKind) -> None:
    assert Patience().wait(Failure(kind, "No.", again=True), 1, 0.0) is None


def test_what_the_provider_calls_hopeless_is_not_tried_again() -> None:
    assert Patience().wait(Failure("overloaded", "No.", again=False), 1, 0.0) is None
