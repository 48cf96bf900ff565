"""What a provider's reported usage teaches the estimator about one model."""

from msgspec import Struct

__all__ = ["Calibration"]

# Odd, so that the median is one of the ratios; small, so that five requests are enough to follow a
# model that has changed under its name, and four wrong reports are not.
_REMEMBERED = 9

# No vocabulary in use is further from the estimate; a report outside is about something else.
_LEAST, _MOST = 0.25, 4.0


class Calibration(Struct, frozen=True):
    """The ratio of reported to estimated tokens: the median of those of the latest requests.

    A median, because the pairs are few and some are wrong: it is right after the first, forgets
    what no longer holds, and neither the order of the pairs nor a garbled one among them moves it.

    >>> Calibration().observe(1_000, 1_200).observe(2_000, 2_400).apply(500)
    600
    """

    recent: tuple[float, ...] = ()

    @property
    def ratio(self) -> float:
        """What a raw estimate is multiplied by; 1 as long as nothing was reported."""
        ordered = sorted(self.recent)
        middle = len(ordered) // 2
        if not ordered:
            return 1.0
        return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2

    def observe(self, estimated: int, reported: int) -> "Calibration":
        """What is known after one more request; a report of nothing teaches nothing."""
        if estimated <= 0 or reported <= 0:
            return self
        ratio = min(_MOST, max(_LEAST, reported / estimated))
        return Calibration((*self.recent, ratio)[-_REMEMBERED:])

    def apply(self, raw: int) -> int:
        """The raw estimate, corrected."""
        return round(raw * self.ratio)
