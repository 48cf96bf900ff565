"""After a compaction, on resume, fork and clear: the thread is brought back, within a budget."""

from sapwood.app.tending.keeping import keep
from sapwood.app.tending.moment import Moment
from sapwood.app.tending.resuming import resumption
from sapwood.app.tending.told import Answer

__all__ = ["answer"]


def answer(moment: Moment) -> Answer:
    """The resumption prompt. A session that starts anew gets none."""
    match moment.told.source:
        case "compact" | "resume" | "fork":
            return resumption(moment, moment.told.session, moment.told.transcript)
        case "clear":
            session, transcript = moment.earlier
            if transcript and session != moment.told.session:
                keep(moment.of(session), transcript, "Before a clear")
                return resumption(moment, session, transcript)
    return Answer()
