"""What a provider's reported usage teaches the estimator about one model."""

from msgspec import Struct

__all__ = ["Calibration"]


class Calibration(Struct, frozen=True):
    """The ratio of reported to estimated tokens, learnt from pairs of both."""

    estimated: float = 0.0
    reported: float = 0.0

    def observe(self, estimated: int, reported: int) -> "Calibration":
        """What is known after one more pair."""
        if estimated <= 0 or reported <= 0:
            return self
        return Calibration(self.estimated * 0.5 + estimated, self.reported * 0.5 + reported)

    def apply(self, raw: int) -> int:
        """The raw estimate, corrected."""
        ratio = self.reported / self.estimated if self.estimated else 1.0
        return round(raw * min(4.0, max(0.25, ratio)))
