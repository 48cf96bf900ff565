"""All turns of a log, in view or not. Pure."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from sapwood.core.events import Recorded, TurnRecorded, TurnStarted
from sapwood.core.turn import Turn, fold_turn

__all__ = ["turns_of"]


def turns_of(events: Sequence[Recorded]) -> Iterator[Turn]:
    """Every turn that these events of one log hold, oldest first."""
    starts = [
        index
        for index, recorded in enumerate(events)
        if isinstance(recorded.event, TurnStarted | TurnRecorded)
    ]
    for start, end in pairwise((*starts, len(events))):
        yield fold_turn(list(events[start:end]))
