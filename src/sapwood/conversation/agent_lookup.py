"""Finds the agent that somebody typed, and refuses with the nearest names when there is none."""

from sapwood.conversation.call import OpenSpace
from sapwood.core.errors import RefusedError
from sapwood.core.ids import AgentId
from sapwood.core.refusals import AmbiguousAgent, Refusal, UnknownAgent, nearest
from sapwood.core.state import State
from sapwood.programs.registry import programs_with
from sapwood.programs.transcripts.transcript_events import imported_agent_id
from sapwood.turns.open_agent import PARENT, find_agent

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
        if imported := await imported_agent(space, typed):
            return imported
        agents = await space.log.agents(space.space, limit=_NAMES)
        known = [name for facts in agents for name in (facts.name, facts.agent) if name]
        found = UnknownAgent(typed, nearest(typed, known))
    raise RefusedError(found)


async def find_for_model(space: OpenSpace, asking: State, typed: str) -> AgentId:
    """The agent that the model of the agent `asking` typed.

    Any agent can be named by its whole id or its name. The start of an id finds only ancestors and
    descendants, and a refusal names no other agent. Raises `RefusedError`.
    """
    found = await find_agent(space.log, space.space, typed, parent=asking.parent)
    if not isinstance(found, Refusal):
        facts = await space.log.facts(space.space, found)
        if typed in (PARENT, found) or (facts is not None and facts.name == typed):
            return found
    family = await _family(space, asking.agent)
    close = tuple(agent for agent in family if typed and agent.startswith(typed))
    if len(close) == 1:
        return close[0]
    raise RefusedError(AmbiguousAgent(typed, close) if close else UnknownAgent(typed))


async def _family(space: OpenSpace, agent: AgentId) -> list[AgentId]:
    above = await space.log.ancestors(space.space, agent)
    return [*above, *await space.log.descendants(space.space, agent)]


async def imported_agent(space: OpenSpace, session: str) -> AgentId | None:
    """The agent that a session of another program was imported as; None if there is none."""
    for program in programs_with("sessions"):
        agent = imported_agent_id(program.name, session)
        if await space.log.facts(space.space, agent):
            return agent
    return None
