"""How far a conversation went from what it was about.

Values that encode to JSON as they stand: field names are those that people read.
"""

from typing import Literal

from msgspec import Struct

__all__ = ["Drift", "Status", "TopicShare", "TurnPlace"]

Status = Literal["on-track", "tangent", "noise"]


class TurnPlace(Struct, frozen=True):
    """What one turn, counted from 1, was about."""

    turn: int
    topic: str
    status: Status


class TopicShare(Struct, frozen=True):
    """One topic: the tokens of its turns and their share of the whole, from 0 to 1."""

    name: str
    tokens: int
    share: float
    status: Status
    declared: bool = False


class Drift(Struct, frozen=True):
    """The topics of a conversation against its original task, the largest first.

    `archive` are the topics that the recommendation is about, `frees` the tokens of their turns.
    """

    task: str
    turns: tuple[TurnPlace, ...]
    topics: tuple[TopicShare, ...]
    recommendation: str = ""
    archive: tuple[str, ...] = ()
    frees: int = 0
