"""How long to wait: for an answer, and before asking again. One policy for every provider."""

from msgspec import Struct

from sapwood.core.calling import Failure, FailureKind

__all__ = ["Patience", "Timeouts"]

_PASSING: frozenset[FailureKind] = frozenset({"overloaded", "no_network", "cut"})


class Timeouts(Struct, frozen=True):
    """Seconds: to reach a provider, and of silence before a connection counts as dead.

    Silence is long because a model that thinks may send nothing for minutes.
    """

    connect: float = 10.0
    silence: float = 600.0


class Patience(Struct, frozen=True):
    """When a call that failed is made again: only while nothing of its answer was handed out.

    Waits double from `first`, never beyond `most`, each shortened by chance so that many agents
    do not come back at once. A provider that asks for longer than `most` is not waited for here;
    the failure says how long.

    >>> Patience().wait(Failure("overloaded", "Busy.", again=True), tried=3, chance=1.0)
    2.0
    """

    tries: int = 5
    first: float = 0.5
    most: float = 30.0

    def wait(self, failure: Failure, tried: int, chance: float) -> float | None:
        """Seconds to wait before the next try, or None to give up; `chance` is from 0 to 1."""
        if tried >= self.tries or not failure.again or failure.kind not in _PASSING:
            return None
        if failure.after is not None:
            return failure.after if failure.after <= self.most else None
        longest = min(self.first * 2 ** (tried - 1), self.most)
        return longest * (1 + chance) / 2
