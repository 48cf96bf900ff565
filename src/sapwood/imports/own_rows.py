"""The rows that Sapwood itself appended to a transcript, as the log knows them."""

from sapwood.core.events import SessionAssumed, TurnRecorded
from sapwood.core.ids import AgentId, Space
from sapwood.runtime.log import Log

_PAGE = 100


async def own_rows(log: Log, space: Space, agent: AgentId) -> tuple[str, ...]:
    """The keys of the rows that Sapwood appended since the newest imported turn of an agent."""
    found: list[str] = []
    last: int | None = None
    while True:
        page = await log.read(space, agent, 1, last, limit=_PAGE, backward=True)
        for recorded in page:
            if isinstance(recorded.event, TurnRecorded):
                return tuple(found)
            if isinstance(recorded.event, SessionAssumed):
                found += recorded.event.rows
        if len(page) < _PAGE:
            return tuple(found)
        last = page[-1].version - 1
