"""Counts the claims of the scenes. The figure of the proof is how many are true."""

from collections.abc import Sized

_SHOWN = 600


class Checks:
    """The claims and their results. A false claim does not stop the scene."""

    def __init__(self) -> None:
        self.passed = 0
        self.failed: list[str] = []
        self.where = ""

    @property
    def made(self) -> int:
        """The number of all claims."""
        return self.passed + len(self.failed)

    def that(self, claim: str, holds: object, seen: object = "") -> None:
        """Claims that `holds` is true; otherwise `seen` is shown."""
        if holds:
            self.passed += 1
        else:
            shown = str(seen)
            shown = shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"
            self.failed.append(f"{self.where}: {claim}" + (f": {shown}" if shown else ""))

    def same(self, claim: str, got: object, wanted: object) -> None:
        """Claims that two things are equal."""
        self.that(claim, got == wanted, f"{got!r} instead of {wanted!r}")

    def within(self, claim: str, part: str, whole: str) -> None:
        """Claims that a text is in another."""
        self.that(claim, part in whole, f"{part!r} is not in {whole[-300:]!r}")

    def many(self, claim: str, things: Sized, count: int) -> None:
        """Claims that there are `count` things."""
        self.that(claim, len(things) == count, f"{len(things)} instead of {count}: {things!r}")
