"""The resumption prompt of a session, with the way to its archive."""

import os

from sapwood.app.config import load_config
from sapwood.app.journaling import note
from sapwood.app.tending.keeping import kept_archives
from sapwood.app.tending.moment import Moment
from sapwood.app.tending.told import Answer
from sapwood.app.tending.transcripts import read_tail
from sapwood.garden.resuming import resumption_prompt
from sapwood.tokens.chars4 import Chars4Counter

__all__ = ["resumption"]

_COUNTER = Chars4Counter()


def resumption(
    moment: Moment, session_id: str, transcript: str, *, for_subagent: bool = False
) -> Answer:
    """What a model needs to go on with a session; nothing if there is nothing to go on with."""
    tending = load_config(moment.environ).tending
    budget = tending.subagent_budget if for_subagent else tending.budget
    if not budget or not os.path.exists(transcript):
        return Answer()
    session = read_tail(transcript)
    if not session.turns:
        return Answer()
    archives = kept_archives(moment.of(session_id).memory)
    where = f"\n\nArchived in full: {archives[0][0]}" if archives else ""
    prompt = resumption_prompt(
        session,
        _COUNTER,
        archives=[archive for _, archive in archives],
        budget=budget - _COUNTER.count(where).tokens,
    )
    whom = "a subagent" if for_subagent else f"the model after {moment.told.source}"
    tokens = _COUNTER.count(prompt + where).tokens
    says = f"Gave {whom} a resumption prompt of ~{tokens:,} tokens."
    folder = session.folder or moment.told.folder
    note("resumed", says, source=session.source, session=session.id, folder=folder)
    return Answer(context=prompt + where)
