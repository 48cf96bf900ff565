"""What a scene claims, counted: the figure of the proof is how many claims held."""

from collections.abc import Sized

__all__ = ["Checks"]

_SHOWN = 600


class Checks:
    """Claims and what came of them. A claim that fails does not stop the scene."""

    def __init__(self) -> None:
        self.held = 0
        self.failed: list[str] = []
        self.where = ""

    @property
    def made(self) -> int:
        """How many claims there were."""
        return self.held + len(self.failed)

    def that(self, claim: str, holds: object, seen: object = "") -> None:
        """Claims that something holds; `seen` is shown if it does not."""
        if holds:
            self.held += 1
        else:
            shown = str(seen)
            shown = shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"
            self.failed.append(f"{self.where}: {claim}" + (f": {shown}" if shown else ""))

    def same(self, claim: str, got: object, wanted: object) -> None:
        """Claims that two things are equal."""
        self.that(claim, got == wanted, f"{got!r} instead of {wanted!r}")

    def within(self, claim: str, part: str, whole: str) -> None:
        """Claims that a text stands in another."""
        self.that(claim, part in whole, f"{part!r} is not in {whole[-300:]!r}")

    def many(self, claim: str, things: Sized, count: int) -> None:
        """Claims that there are so many."""
        self.that(claim, len(things) == count, f"{len(things)} instead of {count}: {things!r}")
