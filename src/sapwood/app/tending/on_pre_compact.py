"""Before a compaction: what is in view goes into an archive."""

from sapwood.app.tending.indexing import index_later
from sapwood.app.tending.keeping import keep
from sapwood.app.tending.moment import Moment
from sapwood.app.tending.told import Answer
from sapwood.app.tending.transcripts import Transcript

__all__ = ["answer"]


def answer(moment: Moment) -> Answer:
    """Archives and says nothing. The warnings begin again, because the window is about to empty."""
    if moment.transcript:
        told = moment.told
        transcript = Transcript(moment.transcript, told.session, told.folder)
        keep(transcript, moment.memory, f"Before a compaction ({told.trigger or 'unknown'})")
        moment.memory.put("warned", 0)
        index_later(moment)
    return Answer()
