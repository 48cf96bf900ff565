"""Reads the account of a root: what its agents have spent and started, from their logs.

One query lists the agents of the root with their versions. Agents that have changed since the last
look are folded on from where they were, so a look costs one query and one small read for each agent
that did something. Agents that work at the same moment do not wait for each other: together they
can exceed a budget by one call each.
"""

from collections import OrderedDict

from sapwood.core.evolve import evolve
from sapwood.core.ids import AgentId, Space
from sapwood.core.spending import Account, account_of
from sapwood.core.state import State
from sapwood.turns.log import Log
from sapwood.turns.open_agent import open_state

_KEPT = 1024


class FamilyAccounts:
    """The accounts of the roots of one space."""

    def __init__(self, log: Log, space: Space) -> None:
        self._log = log
        self._space = space
        self._states: OrderedDict[AgentId, State] = OrderedDict()

    async def of(self, state: State) -> Account:
        """The account of the root of this agent."""
        family = await self._log.family(self._space, state.agent)
        states = [
            state if each.agent == state.agent else await self._state(each.agent, each.version)
            for each in family
        ]
        return account_of(states or [state], state.agent)

    async def _state(self, agent: AgentId, version: int) -> State:
        state = self._states.get(agent)
        if state is None:
            state = await open_state(self._log, self._space, agent)
        elif state.version < version:
            for recorded in await self._log.read(self._space, agent, state.version + 1):
                state = evolve(state, recorded)
        self._states[agent] = state
        self._states.move_to_end(agent)
        while len(self._states) > _KEPT:
            self._states.popitem(last=False)
        return state
