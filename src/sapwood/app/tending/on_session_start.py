"""After a compaction, on resume, fork and clear: the thread is brought back, within a budget."""

from sapwood.app.tending.moment import Moment
from sapwood.app.tending.resuming import resumption
from sapwood.app.tending.told import Answer

__all__ = ["answer"]


def answer(moment: Moment) -> Answer:
    """The resumption prompt. A session that starts anew gets none."""
    source = moment.told.source or ""
    if source in ("compact", "resume", "fork") and (session := moment.session()):
        return resumption(session, moment.environ, f"the model after {source}")
    if source == "clear" and (earlier := moment.earlier()):
        from sapwood.app.tending.keeping import (
            keep,  # which a program that told of the end needs not
        )

        keep(earlier, "Before a clear")
        return resumption(earlier, moment.environ, "the model after clear")
    return Answer()
