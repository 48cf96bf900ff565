"""The resumption prompt of a session, with the way to its archive."""

from sapwood.app.config import TendingConfig, load_config
from sapwood.app.folders import focus_file
from sapwood.app.journaling import note
from sapwood.app.tending.keeping import kept_archives
from sapwood.app.tending.memory import Memory
from sapwood.app.tending.moment import Moment
from sapwood.app.tending.told import Answer
from sapwood.app.tending.transcripts import Transcript
from sapwood.garden.focus import names_in_focus, of_project, read_focus
from sapwood.garden.resuming import resumption_prompt
from sapwood.tokens.chars4 import Chars4Counter

__all__ = ["resumption"]

_COUNTER = Chars4Counter()


def resumption(
    moment: Moment, transcript: Transcript, memory: Memory, whom: str, *, brief: bool = False
) -> Answer:
    """What a model needs to go on with a session; nothing if there is nothing to go on with."""
    budget = _budget(load_config(moment.environ).tending, brief=brief)
    session = transcript.read()
    if not budget or not session.turns:
        return Answer()
    archives = kept_archives(memory)
    where = f"\n\nArchived: {archives[0][0]}" if archives else ""
    focus = of_project(read_focus(focus_file()), session.folder)
    prompt = resumption_prompt(
        session,
        _COUNTER,
        focus=names_in_focus(focus),
        archives=[archive for _, archive in archives],
        budget=budget - _COUNTER.count(where).tokens,
    )
    tokens = _COUNTER.count(prompt + where).tokens
    says = f"Gave {whom} a resumption prompt of ~{tokens:,} tokens."
    note("resumed", says, source=session.source, session=session.id, folder=session.folder)
    return Answer(context=prompt + where)


def _budget(tending: TendingConfig, *, brief: bool) -> int:
    return tending.subagent_budget if brief else tending.budget
