"""A log of which only the list of agents is there."""

from sapwood.core.ids import AgentId, Space
from sapwood.core.log import Facts, LogError

__all__ = ["Listing", "working"]


def working(agent: str) -> Facts:
    """An agent with work to do."""
    return Facts(AgentId(agent), 1, model="model", working=True)


class Listing:
    """Lists agents page by page, as a log does."""

    def __init__(self, agents: dict[Space, list[Facts]]) -> None:
        self._agents = agents
        self.away = False

    async def agents(
        self,
        space: Space,
        *,
        after: Facts | None = None,
        limit: int = 100,
        parent: AgentId | None = None,
        status: str | None = None,
    ) -> list[Facts]:
        if self.away:
            raise LogError("The log is away.")
        found = [facts for facts in self._agents[space] if status in (None, facts.status)]
        start = found.index(after) + 1 if after else 0
        return found[start : start + limit]
