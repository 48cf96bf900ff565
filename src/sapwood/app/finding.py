"""Finding the agent that somebody typed, with an error that helps when it is not there."""

from sapwood.app.connection import Connection
from sapwood.core.errors import RefusedError, SapwoodError
from sapwood.core.ids import AgentId
from sapwood.core.refusals import Refusal, UnknownAgent, nearest
from sapwood.runtime.finding import find_agent
from sapwood.sources.naming import SOURCES, agent_of

__all__ = ["find"]

_NAMES = 500


async def _imported(connection: Connection, session: str) -> AgentId | None:
    """The agent that a session with this id became, whichever program it ran in."""
    for source in SOURCES:
        agent = agent_of(source, session)
        if await connection.log.facts(connection.space, agent):
            return agent
    return None


async def find(connection: Connection, typed: str) -> AgentId:
    """The agent that somebody typed: as `find_agent` does, or by the id of an imported session.

    One that is not there is refused with the nearest names.
    """
    found = await find_agent(connection.log, connection.space, typed)
    if isinstance(found, UnknownAgent) and (imported := await _imported(connection, typed)):
        return imported
    if isinstance(found, UnknownAgent):
        agents = await connection.log.agents(connection.space, limit=_NAMES)
        known = [name for facts in agents for name in (facts.name, facts.agent) if name]
        close = " or ".join(nearest(typed, known))
        instead = f"Did you mean {close}?" if close else "Type: sapwood agents --all"
        raise SapwoodError(f"There is no agent '{typed[:60]}'. {instead}")
    if isinstance(found, Refusal):
        raise RefusedError(found)
    return found
