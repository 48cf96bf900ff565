"""When a failed call is retried."""

import pytest

from sapwood.core.model_calls import Failure, FailureKind
from sapwood.models import RetryPolicy

BUSY = Failure("overloaded", "Busy.", again=True)


def test_waits_double_up_to_a_limit() -> None:
    policy = RetryPolicy(max_attempts=9, first_delay=1.0, max_delay=6.0)
    assert [policy.delay(BUSY, tried, 1.0) for tried in range(1, 6)] == [1, 2, 4, 6, 6]


def test_chance_shortens_a_wait_by_half_at_most() -> None:
    assert RetryPolicy(first_delay=1.0).delay(BUSY, 1, 0.0) == 0.5


def test_the_number_of_tries_is_bounded() -> None:
    policy = RetryPolicy(max_attempts=2)
    assert policy.delay(BUSY, 1, 0.0) is not None
    assert policy.delay(BUSY, 2, 0.0) is None


def test_what_the_provider_asks_for_is_waited() -> None:
    failure = Failure("overloaded", "Busy.", again=True, after=7.0)
    assert RetryPolicy().delay(failure, 1, 0.0) == 7.0


@pytest.mark.parametrize("after", [0.0, 0.2])
def test_a_provider_that_asks_for_less_is_asked_no_sooner_than_others(after: float) -> None:
    failure = Failure("overloaded", "Busy.", again=True, after=after)
    policy = RetryPolicy(first_delay=1.0)
    assert [policy.delay(failure, tried, 1.0) for tried in range(1, 4)] == [1, 2, 4]


def test_a_provider_that_asks_for_too_long_is_not_waited_for() -> None:
    failure = Failure("overloaded", "Busy.", again=True, after=3600.0)
    assert RetryPolicy().delay(failure, 1, 0.0) is None


@pytest.mark.parametrize("kind", ["bad_key", "no_model", "too_long", "refused", "other"])
def test_what_stays_wrong_is_not_tried_again(kind: FailureKind) -> None:
    assert RetryPolicy().delay(Failure(kind, "No.", again=True), 1, 0.0) is None


def test_what_the_provider_calls_hopeless_is_not_tried_again() -> None:
    assert RetryPolicy().delay(Failure("overloaded", "No.", again=False), 1, 0.0) is None
