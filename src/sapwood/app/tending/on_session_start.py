"""After a compaction, on resume, fork and clear: the thread is brought back, within a budget."""

from sapwood.app.tending.keeping import keep
from sapwood.app.tending.moment import Moment
from sapwood.app.tending.resuming import resumption
from sapwood.app.tending.told import Answer
from sapwood.app.tending.transcripts import Transcript

__all__ = ["answer"]


def answer(moment: Moment) -> Answer:
    """The resumption prompt. A session that starts anew gets none."""
    told = moment.told
    if told.source in ("compact", "resume", "fork") and moment.transcript:
        transcript = Transcript(moment.transcript, told.session, told.folder)
        return resumption(moment, transcript, moment.memory, f"the model after {told.source}")
    if told.source == "clear" and (earlier := moment.earlier()):
        memory, session, path = earlier
        transcript = Transcript(path, session, told.folder)
        keep(transcript, memory, "Before a clear")
        return resumption(moment, transcript, memory, "the model after clear")
    return Answer()
