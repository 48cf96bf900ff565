"""A subagent starts with an empty window: it is told what the session is about."""

from sapwood.app.tending.moment import Moment
from sapwood.app.tending.resuming import resumption
from sapwood.app.tending.told import Answer
from sapwood.app.tending.transcripts import Transcript

__all__ = ["answer"]


def answer(moment: Moment) -> Answer:
    """A short resumption prompt of the session that it works for."""
    if not moment.transcript:
        return Answer()
    transcript = Transcript(moment.transcript, moment.told.session, moment.told.folder)
    return resumption(moment, transcript, moment.memory, "a subagent", brief=True)
