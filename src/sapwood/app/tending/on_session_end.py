"""A session ends: what a clear drops goes into an archive, and the transcript is indexed."""

from sapwood.app.tending.indexing import index_later
from sapwood.app.tending.keeping import keep
from sapwood.app.tending.moment import Moment
from sapwood.app.tending.told import Answer
from sapwood.app.tending.transcripts import Transcript

__all__ = ["answer"]


def answer(moment: Moment) -> Answer:
    """Says nothing."""
    if moment.transcript:
        told = moment.told
        if told.reason == "clear":
            transcript = Transcript(moment.transcript, told.session, told.folder)
            keep(transcript, moment.memory, "Before a clear")
        index_later(moment)
    return Answer()
