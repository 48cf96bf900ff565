"""A subagent ends and takes its window with it: what it did goes into an archive."""

from sapwood.app.tending.indexing import index_later
from sapwood.app.tending.keeping import keep
from sapwood.app.tending.moment import Moment
from sapwood.app.tending.told import Answer
from sapwood.app.tending.transcripts import Transcript

__all__ = ["answer"]


def answer(moment: Moment) -> Answer:
    """Archives and says nothing. The program's own summariser, which has no type, is left out."""
    told = moment.told
    if told.agent_transcript_path and told.agent_type:
        transcript = Transcript(told.agent_transcript_path, told.agent_id or "", told.folder)
        why = f"A subagent ended ({told.agent_type})"
        keep(transcript, moment.memory, why, told.last_assistant_message or "")
        index_later(moment)
    return Answer()
