"""Before a compaction: what is in view goes into an archive."""

from sapwood.app.tending.indexing import index_later
from sapwood.app.tending.keeping import keep
from sapwood.app.tending.moment import Moment
from sapwood.app.tending.told import Answer

__all__ = ["answer"]


def answer(moment: Moment) -> Answer:
    """Archives and says nothing. The warnings begin again, because the window is about to empty."""
    if session := moment.session():
        keep(session, f"Before a compaction ({moment.told.trigger or 'unknown'})")
        session.memory.put("warned", 0)
        index_later(session, moment.environ)
    return Answer()
