"""A subagent ends and takes its window with it: what it did goes into an archive."""

from sapwood.app.tending.indexing import index_later
from sapwood.app.tending.keeping import keep
from sapwood.app.tending.moment import Moment
from sapwood.app.tending.told import Answer

__all__ = ["answer"]


def answer(moment: Moment) -> Answer:
    """Archives and says nothing."""
    if subagent := moment.subagent():
        said = moment.told.last_assistant_message or ""
        keep(subagent, f"A subagent ended ({moment.told.agent_type})", said)
        if session := moment.session():
            index_later(session, moment.environ)
    return Answer()
