"""A subagent starts with an empty window: it is told what the session is about."""

from sapwood.app.tending.moment import Moment
from sapwood.app.tending.resuming import brief
from sapwood.app.tending.told import Answer

__all__ = ["answer"]


def answer(moment: Moment) -> Answer:
    """A short resumption prompt of the session that it works for."""
    session = moment.session()
    return brief(session, moment.environ) if session else Answer()
