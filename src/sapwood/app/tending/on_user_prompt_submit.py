"""A prompt is sent: a warning, once for each level that the window's filling has passed."""

from sapwood.app.config import load_config
from sapwood.app.journaling import note
from sapwood.app.tending.moment import Moment
from sapwood.app.tending.pressure import limit_of
from sapwood.app.tending.told import Answer
from sapwood.app.tending.transcripts import Transcript
from sapwood.garden.warning import Pressure, loss_of, warning
from sapwood.tokens.chars4 import Chars4Counter

__all__ = ["answer"]


def answer(moment: Moment) -> Answer:
    """The warning for the person and the model, or nothing."""
    told, memory = moment.told, moment.memory
    if not moment.transcript or told.agent_id is not None:
        return Answer()
    session = Transcript(moment.transcript, told.session, told.folder).read()
    limit = limit_of(told.program, session.window, memory, moment.environ)
    if not session.used or not limit:
        return Answer()
    pressure = Pressure(session.used, limit)
    levels = load_config(moment.environ).context.levels
    level = sum(pressure.share >= each for each in levels)
    if level <= memory.number("warned"):
        if not level:
            memory.put("warned", 0)
        return Answer()
    text = warning(pressure, loss_of(session, Chars4Counter()))
    memory.put("warned", level)
    says = text.partition("\n")[0]
    note("warned", says, source=session.source, session=session.id, folder=session.folder)
    return Answer(message=f"Sapwood: {text}", context=text)
