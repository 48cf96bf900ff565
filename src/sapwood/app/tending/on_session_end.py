"""A session ends: what a clear drops goes into an archive, and the transcript is indexed."""

from sapwood.app.tending.indexing import index_later
from sapwood.app.tending.keeping import keep
from sapwood.app.tending.moment import Moment
from sapwood.app.tending.told import Answer

__all__ = ["answer"]


def answer(moment: Moment) -> Answer:
    """Says nothing."""
    if moment.has_transcript:
        if moment.told.reason == "clear":
            keep(moment, moment.told.transcript, "Before a clear")
        index_later(moment)
    return Answer()
