"""Token counts: the number, whether it is exact, and how estimates are shown and corrected."""

from typing import Protocol

from msgspec import Struct


class Count(Struct, frozen=True):
    """A number of tokens. A sum is exact only if every part is.

    >>> Count(700, exact=True) + Count(80, exact=False)
    Count(tokens=780, exact=False)
    """

    tokens: int
    exact: bool

    def __add__(self, other: "Count") -> "Count":
        return Count(self.tokens + other.tokens, self.exact and other.exact)


ZERO = Count(0, exact=True)


class Counter(Protocol):
    """Counts the tokens of a text: all counts are exact, or all are estimates.

    `name` is stored with each count, and a stored count is used only by a counter of the same name.
    So a counter that changes how it counts needs a new name.
    """

    @property
    def name(self) -> str: ...

    @property
    def exact(self) -> bool: ...

    def count(self, text: str) -> Count: ...


ESTIMATORS = frozenset({"", "chars4", "features"})
"""The names of counters that estimate."""


def is_exact(counter: str) -> bool:
    """Whether the counter of this name counts exactly. Sizes are stored with the name."""
    return counter not in ESTIMATORS


def show(count: Count) -> str:
    """The count as all faces show it: a tilde marks an estimate.

    >>> [show(Count(n, exact=True)) for n in (950, 1_834, 77_123, 1_240_000)]
    ['950', '1.8k', '77k', '1.2M']
    >>> show(Count(77_123, exact=False))
    '~77k'
    """
    return ("" if count.exact else "~") + _digits(count.tokens)


def show_tokens(count: Count) -> str:
    """The count with its unit.

    >>> [show_tokens(Count(n, exact=True)) for n in (1, 950, 77_123)]
    ['1 token', '950 tokens', '77k tokens']
    """
    return f"{show(count)} {'token' if count.tokens == 1 else 'tokens'}"


def _digits(number: int) -> str:
    """All digits below a thousand, then two or three: `9.2k`, `77k`, `320k`, `1.2M`.

    Rounds half up in whole numbers, so that a larger count never looks smaller: 9.96k is shown as
    10k and 999.6k as 1.0M.
    """
    if number < 1_000:
        return str(number)
    size, unit = (1_000, "k") if number < 999_500 else (1_000_000, "M")
    tenths = (number * 10 + size // 2) // size
    if tenths < 100:
        return f"{tenths // 10}.{tenths % 10}{unit}"
    return f"{(number + size // 2) // size}{unit}"


# Odd, so that the median is one of the ratios. Small, so that five requests are enough to follow a
# model that has changed, and four wrong reports change nothing.
_REMEMBERED = 9

# No tokenizer in use is further from the estimate; a ratio outside of this is a wrong report.
_MIN_RATIO, _MAX_RATIO = 0.25, 4.0


class Calibration(Struct, frozen=True):
    """The ratio of reported to estimated tokens: the median over the latest requests.

    A median is right after the first request, forgets old ratios, and ignores a few wrong reports.

    >>> Calibration().observe(1_000, 1_200).observe(2_000, 2_400).apply(500)
    600
    """

    recent: tuple[float, ...] = ()

    @property
    def ratio(self) -> float:
        """The factor for a raw estimate; 1 if nothing was reported yet."""
        ordered = sorted(self.recent)
        middle = len(ordered) // 2
        if not ordered:
            return 1.0
        return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2

    def observe(self, estimated: int, reported: int) -> "Calibration":
        """The calibration after one more request. A report of 0 tokens changes nothing."""
        if estimated <= 0 or reported <= 0:
            return self
        ratio = min(_MAX_RATIO, max(_MIN_RATIO, reported / estimated))
        return Calibration((*self.recent, ratio)[-_REMEMBERED:])

    def apply(self, raw: int) -> int:
        """The raw estimate, corrected."""
        return round(raw * self.ratio)
