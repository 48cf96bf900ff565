"""Diagnosis: checks of the installation, each with a finding that says what to type next."""

from typing import Literal

from msgspec import Struct, field

__all__ = ["Finding", "FindingState"]

FindingState = Literal["ok", "open", "broken"]


class Finding(Struct, frozen=True):
    """The result of one check. `open` means that something optional is missing.

    `next_step` is what the user can type to fix it.
    """

    topic: str
    state: FindingState
    message: str = field(name="says")
    next_step: str = field(name="then", default="")
