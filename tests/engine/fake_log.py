"""A log that can only list the agents with work to do."""

from sapwood.core.ids import AgentId, Space
from sapwood.core.log_values import AgentSummary, LogError


def working(agent: str) -> AgentSummary:
    """An agent with work to do."""
    return AgentSummary(AgentId(agent), 1, model="model", working=True)


class FakeLog:
    """Lists agents with work to do page by page, as a log does."""

    def __init__(self, agents: dict[Space, list[AgentSummary]]) -> None:
        self._agents = agents
        self.away = False
        self.closed: set[Space] = set()

    async def working(
        self, space: Space, *, after: AgentId | None = None, limit: int = 100
    ) -> list[AgentSummary]:
        if self.away:
            raise LogError("The log is away.")
        if space in self.closed:
            raise LogError("There is no key.")
        found = sorted(self._agents[space], key=lambda summary: summary.agent)
        return [summary for summary in found if after is None or summary.agent > after][:limit]
