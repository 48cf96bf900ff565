"""What an examination finds: one thing that was looked at, and what to type next."""

from typing import Literal

from msgspec import Struct

__all__ = ["Finding", "State"]

State = Literal["ok", "open", "broken"]


class Finding(Struct, frozen=True):
    """One thing that was looked at. `open` is what may be missing; `then` is what to type."""

    topic: str
    state: State
    says: str
    then: str = ""
