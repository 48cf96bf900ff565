"""A prompt is sent: a warning, once for each level that the window's filling has passed."""

from sapwood.app.config import load_config
from sapwood.app.tending.moment import Moment
from sapwood.app.tending.pressure import limit_of
from sapwood.app.tending.tended import GLANCE, Tended
from sapwood.app.tending.told import Answer
from sapwood.garden.warning import Pressure, warning

__all__ = ["answer"]


def answer(moment: Moment) -> Answer:
    """The warning for the person and the model, or nothing."""
    session = moment.session()
    if session is None or moment.told.agent_id is not None:
        return Answer()
    read = session.read(GLANCE)
    limit = limit_of(moment.told.program, read.window, session.memory, moment.environ)
    if not read.used or not limit:
        return Answer()
    pressure = Pressure(read.used, limit)
    levels = load_config(moment.environ).context.levels
    level = sum(pressure.share >= each for each in levels)
    if level <= session.memory.number("warned"):
        return Answer()
    session.memory.put("warned", level)
    return _warned(moment, session, pressure)


def _warned(moment: Moment, session: Tended, pressure: Pressure) -> Answer:
    from sapwood.app.journaling import note
    from sapwood.app.tending.awaiting import prepared_for

    prepared = prepared_for(session, moment.environ)
    text = warning(pressure, prepared.lost, prepared.acts)
    says = text.partition("\n")[0]
    note("warned", says, source=moment.told.program, session=session.session, folder=session.folder)
    return Answer(message=f"Sapwood: {text}", context=text)
