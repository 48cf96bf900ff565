"""How long to wait for an answer, and when to retry. The same policy for every provider."""

from msgspec import Struct

from sapwood.core.model_calls import Failure, FailureKind

_TEMPORARY: frozenset[FailureKind] = frozenset({"overloaded", "no_network", "cut"})


class Timeouts(Struct, frozen=True):
    """Seconds to wait for a connection, and for the next bytes on an open one.

    `silence` is long because a model that thinks may send nothing for minutes.
    """

    connect: float = 10.0
    silence: float = 600.0


class RetryPolicy(Struct, frozen=True):
    """When a failed call is retried, as long as no part of its answer was passed on.

    Delays double from `first_delay` up to `max_delay`. Each is shortened at random, so that many
    agents do not retry at the same moment. A longer delay that a provider asks for is waited; if it
    is longer than `max_delay`, the call is not retried, and the failure says how long to wait.

    >>> RetryPolicy().delay(Failure("overloaded", "Busy.", again=True), attempts=3, jitter=1.0)
    2.0
    """

    max_attempts: int = 5
    first_delay: float = 0.5
    max_delay: float = 30.0

    def delay(self, failure: Failure, attempts: int, jitter: float) -> float | None:
        """Seconds before the next attempt, or None to give up.

        `attempts` counts those already made; `jitter` is a random number from 0 to 1.
        """
        if attempts >= self.max_attempts or not failure.again or failure.kind not in _TEMPORARY:
            return None
        after = failure.after or 0.0
        if after > self.max_delay:
            return None
        longest = min(self.first_delay * 2 ** (attempts - 1), self.max_delay)
        return max(after, longest * (1 + jitter) / 2)
