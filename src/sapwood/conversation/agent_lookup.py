"""Finds the agent that somebody typed, and refuses with the nearest names when there is none."""

from sapwood.conversation.call import OpenSpace
from sapwood.core.errors import RefusedError
from sapwood.core.ids import AgentId
from sapwood.core.refusals import Refusal, UnknownAgent, nearest
from sapwood.runtime.open_agent import find_agent
from sapwood.sources.source_programs import SOURCES, imported_agent_id

__all__ = ["find"]

_NAMES = 500


async def find(space: OpenSpace, typed: str, *, parent: AgentId | None = None) -> AgentId:
    """The agent with this id, start of an id or name, or the one imported from this session.

    `parent` is the parent of the agent that asks, which may call it `parent`. Raises
    `RefusedError`; where no agent is found, the refusal has the nearest names.
    """
    found = await find_agent(space.log, space.space, typed, parent=parent)
    if not isinstance(found, Refusal):
        return found
    if isinstance(found, UnknownAgent):
        if imported := await _imported(space, typed):
            return imported
        agents = await space.log.agents(space.space, limit=_NAMES)
        known = [name for facts in agents for name in (facts.name, facts.agent) if name]
        found = UnknownAgent(typed, nearest(typed, known))
    raise RefusedError(found)


async def _imported(space: OpenSpace, session: str) -> AgentId | None:
    for source in SOURCES:
        agent = imported_agent_id(source, session)
        if await space.log.facts(space.space, agent):
            return agent
    return None
