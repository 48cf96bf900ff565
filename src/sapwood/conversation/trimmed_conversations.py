"""Which conversations of a list were trimmed or compacted, kept up to date without opening all."""

from collections.abc import Iterable
from typing import Literal

from sapwood.conversation.call import OpenSpace
from sapwood.core.ids import AgentId
from sapwood.core.log_values import AgentSummary
from sapwood.runtime.open_agent import open_state

__all__ = ["Trim", "TrimmedConversations"]

Trim = Literal["", "trimmed", "compacted"]
_MOST = 40
"""How many conversations are looked at in one call; the others follow in the next calls."""


class TrimmedConversations:
    """Remembers what it has found for each version of each agent."""

    def __init__(self, space: OpenSpace) -> None:
        self._log = space.log
        self._space = space.space
        self._found: dict[AgentId, tuple[int, Trim]] = {}

    async def of(self, agents: Iterable[AgentSummary]) -> dict[AgentId, Trim]:
        """How the context of each agent begins: whole, after a trim, or with a summary."""
        looked = 0
        for facts in agents:
            known = self._found.get(facts.agent)
            if looked < _MOST and (known is None or known[0] != facts.version):
                looked += 1
                self._found[facts.agent] = (facts.version, await self._look(facts.agent))
        return {agent: trim for agent, (_, trim) in self._found.items()}

    async def _look(self, agent: AgentId) -> Trim:
        context = (await open_state(self._log, self._space, agent)).context
        if context.summary is not None:
            return "compacted"
        return "trimmed" if context.head is not None else ""
