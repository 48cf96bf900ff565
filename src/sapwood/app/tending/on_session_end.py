"""A session ends: what a clear drops goes into an archive, and the session is indexed."""

from sapwood.app.tending.indexing import index_later
from sapwood.app.tending.moment import Moment
from sapwood.app.tending.told import Answer

__all__ = ["answer"]


def answer(moment: Moment) -> Answer:
    """Says nothing."""
    if session := moment.session():
        if moment.told.reason == "clear":
            from sapwood.app.tending.keeping import keep  # only a clear has use for it

            keep(session, "Before a clear")
        index_later(session, moment.environ)
    return Answer()
