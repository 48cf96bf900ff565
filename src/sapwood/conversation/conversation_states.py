"""What lists show of conversations beyond their summaries: how they were trimmed, what they cost.

A conversation is looked at again only if it has changed.
"""

from collections.abc import Iterable
from typing import Literal

from msgspec import Struct

from sapwood.conversation.call import OpenSpace
from sapwood.core.content import Usage
from sapwood.core.ids import AgentId
from sapwood.core.log_values import AgentSummary
from sapwood.turns.open_agent import open_state

Trim = Literal["", "trimmed", "compacted"]


class ConversationState(Struct, frozen=True):
    """How the context begins: whole, after a trim, or with a summary; and what was spent."""

    trim: Trim = ""
    spent: Usage = Usage(0)


class ConversationStates:
    """Remembers what it has found for each version of each agent."""

    def __init__(self, space: OpenSpace) -> None:
        self._log = space.log
        self._space = space.space
        self._found: dict[AgentId, tuple[int, ConversationState]] = {}

    async def of(
        self, agents: Iterable[AgentSummary], most: int = 40
    ) -> dict[AgentId, ConversationState]:
        """The states that are known. `most` new ones are read; the others follow in later calls."""
        looked = 0
        for facts in agents:
            known = self._found.get(facts.agent)
            if looked < most and (known is None or known[0] != facts.version):
                looked += 1
                self._found[facts.agent] = (facts.version, await self._look(facts.agent))
        return {agent: state for agent, (_, state) in self._found.items()}

    async def _look(self, agent: AgentId) -> ConversationState:
        state = await open_state(self._log, self._space, agent)
        context = state.context
        trim: Trim = "trimmed" if context.head is not None else ""
        return ConversationState("compacted" if context.summary is not None else trim, state.spent)
