"""A turn ends: the session is indexed, by a process that nobody waits for."""

from sapwood.app.tending.indexing import index_later
from sapwood.app.tending.moment import Moment
from sapwood.app.tending.told import Answer

__all__ = ["answer"]


def answer(moment: Moment) -> Answer:
    """Says nothing."""
    if session := moment.session():
        index_later(session, moment.environ)
    return Answer()
