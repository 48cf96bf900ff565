"""A log of which only the list of working agents is there."""

from sapwood.core.ids import AgentId, Space
from sapwood.core.log import Facts, LogError

__all__ = ["Listing", "working"]


def working(agent: str) -> Facts:
    """An agent with work to do."""
    return Facts(AgentId(agent), 1, model="model", working=True)


class Listing:
    """Lists agents with work to do page by page, as a log does."""

    def __init__(self, agents: dict[Space, list[Facts]]) -> None:
        self._agents = agents
        self.away = False

    async def working(
        self, space: Space, *, after: AgentId | None = None, limit: int = 100
    ) -> list[Facts]:
        if self.away:
            raise LogError("The log is away.")
        found = sorted(self._agents[space], key=lambda facts: facts.agent)
        return [facts for facts in found if after is None or facts.agent > after][:limit]
