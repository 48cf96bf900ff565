"""Reading a conversation from the log into rows.

A long one is shown from its end at once, and read as a whole behind that.
"""

import asyncio

from sapwood.app.connection import Connection
from sapwood.core.content import Text
from sapwood.core.events import AgentStarted, Recorded, TurnStarted
from sapwood.core.ids import AgentId
from sapwood.runtime.opening import open_state, read_live
from sapwood.tui.rows.timeline import Timeline
from sapwood.tui.transcript.texts import Texts

__all__ = ["LONG", "read_end", "read_whole", "sent_before", "texts_of"]

LONG = 3_000
"""Events from which on a conversation is shown before it is read as a whole."""

_END = 300
_PAGE = 1_000


def texts_of(connection: Connection) -> Texts:
    """The events behind rows, from this log."""

    async def read(agent: AgentId, first: int, last: int) -> list[Recorded]:
        return await connection.log.read(connection.space, agent, first, last)

    return Texts(read)


async def read_end(connection: Connection, agent: AgentId, version: int, texts: Texts) -> Timeline:
    """The last rows, enough for some screens."""
    timeline = Timeline()
    first = max(1, version - _END)
    for recorded in await connection.log.read(connection.space, agent, first, version):
        timeline.add(recorded)
        texts.add(recorded)
    return timeline


async def read_whole(connection: Connection, agent: AgentId, texts: Texts) -> Timeline:
    """Every row from the first event on, with what a child inherited before it."""
    timeline = Timeline()
    log, space = connection.log, connection.space
    while page := await log.read(space, agent, timeline.version + 1, limit=_PAGE):
        if timeline.version == 0:
            await _inherit(connection, page[0], timeline)
        for recorded in page:
            timeline.add(recorded)
        if len(page) < _PAGE:
            for recorded in page:
                texts.add(recorded)
            break
        await asyncio.sleep(0)
    return timeline


async def _inherit(connection: Connection, first: Recorded, timeline: Timeline) -> None:
    event = first.event
    if not isinstance(event, AgentStarted) or event.context.tip is None:
        return
    state = await open_state(connection.log, connection.space, first.agent, 1)
    live = await read_live(connection.log, connection.space, state, context=event.context)
    timeline.inherit(live.turns)


async def sent_before(connection: Connection, agent: AgentId) -> list[str]:
    """What a person sent to this agent, oldest first, as far as it is worth looking back."""
    found: list[str] = []
    page = await connection.log.read(connection.space, agent, limit=_PAGE, backward=True)
    for recorded in page:
        if isinstance(recorded.event, TurnStarted) and recorded.actor.role == "human":
            words = [part.text for part in recorded.event.prompt if isinstance(part, Text)]
            found.append("\n\n".join(words))
    return [text for text in reversed(found) if text]
