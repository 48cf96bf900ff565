"""A turn ends: the transcript is indexed, by a process that nobody waits for."""

from sapwood.app.tending.indexing import index_later
from sapwood.app.tending.moment import Moment
from sapwood.app.tending.told import Answer

__all__ = ["answer"]


def answer(moment: Moment) -> Answer:
    """Says nothing."""
    if moment.transcript:
        index_later(moment)
    return Answer()
