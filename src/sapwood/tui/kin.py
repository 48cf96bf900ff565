"""The family of an agent: its root and all that descend from it, as lists show them."""

from sapwood.app.connection import Connection
from sapwood.core.ids import AgentId
from sapwood.core.log import Facts

__all__ = ["kin_of"]

_MOST = 60


async def kin_of(connection: Connection, agent: AgentId) -> tuple[Facts, ...]:
    """The root first, then its descendants."""
    log, space = connection.log, connection.space
    ancestors = await log.ancestors(space, agent)
    root = ancestors[-1] if ancestors else agent
    agents = [root, *(await log.descendants(space, root))[:_MOST]]
    found = [await log.facts(space, each) for each in agents]
    return tuple(facts for facts in found if facts is not None)
