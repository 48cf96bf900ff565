"""A figure of `bench sync_session`."""

from msgspec import Struct


class Figure(Struct, frozen=True):
    """A median and its limit; a figure without a limit is shown only."""

    name: str
    value: float
    unit: str
    limit: float | None

    def line(self, slack: float) -> str:
        """The figure as a line of the table."""
        limit = "no limit" if self.limit is None else f"limit {self.limit * slack:g}"
        return f"{self.name:<56} {self.value:>8.1f} {self.unit:<10} {limit}"

    def fits(self, slack: float) -> bool:
        """Whether it is within its limit."""
        return self.limit is None or self.value <= self.limit * slack
