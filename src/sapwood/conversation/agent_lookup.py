"""Finds the agent that somebody typed, and refuses with the nearest names when there is none.

Finds the turn that somebody typed.
"""

from msgspec import structs

from sapwood.conversation.call import OpenSpace
from sapwood.core.errors import RefusedError, accepted
from sapwood.core.ids import AgentId
from sapwood.core.refusals import AmbiguousAgent, Refusal, UnknownAgent, UnknownTurn, nearest
from sapwood.core.state import State
from sapwood.core.turn import Turn
from sapwood.core.turn_numbers import Names, parse_place, turn_place
from sapwood.programs.registry import programs_with
from sapwood.programs.transcripts.transcript_events import imported_agent_id
from sapwood.turns.open_agent import PARENT, OpenAgent, find_agent, open_agent
from sapwood.turns.turn_lookup import TurnStart, find_starts, names_of, whole_turn

_NAMES = 500


async def find(space: OpenSpace, typed: str, *, parent: AgentId | None = None) -> AgentId:
    """The agent with this id, start of an id or name, or the one imported from this session.

    The start of the session's id is enough. `parent` is the parent of the agent that asks, which
    may call it `parent`. Raises `RefusedError`; where no agent is found, the refusal has the
    nearest names.
    """
    found = await find_agent(space.log, space.space, typed, parent=parent)
    if not isinstance(found, Refusal):
        return found
    if isinstance(found, UnknownAgent):
        if imported := await imported_agent(space, typed):
            return imported
        agents = await space.log.agents(space.space, limit=_NAMES)
        roots = [each for each in agents if each.parent is None]
        close = [each.agent for each in roots if typed and each.session.startswith(typed)]
        if len(close) == 1:
            return close[0]
        if close:
            raise RefusedError(AmbiguousAgent(typed, tuple(close)))
        known = [name for summary in agents for name in (summary.name, summary.agent) if name]
        found = UnknownAgent(typed, nearest(typed, known))
    raise RefusedError(found)


async def split_place(space: OpenSpace, typed: str) -> tuple[str, str]:
    """The agent and the turns that somebody typed as `AGENT/3` or `AGENT/4-9`, else no turns.

    An agent of which that is the whole name is preferred.
    """
    place = parse_place(typed)
    if place is None or not place.agent:
        return typed, ""
    if not isinstance(await find_agent(space.log, space.space, typed), Refusal):
        return typed, ""
    return place.agent, str(structs.replace(place, agent=""))


async def find_for_model(space: OpenSpace, asking: State, typed: str) -> AgentId:
    """The agent that the model of the agent `asking` typed.

    Any agent can be named by its whole id or its name. The start of an id finds only ancestors and
    descendants, and a refusal names no other agent. Raises `RefusedError`.
    """
    found = await find_agent(space.log, space.space, typed, parent=asking.parent)
    if not isinstance(found, Refusal):
        summary = await space.log.summary(space.space, found)
        if typed in (PARENT, found) or (summary is not None and summary.name == typed):
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
        if await space.log.summary(space.space, agent):
            return agent
    return None


async def agent_at(space: OpenSpace, agent: AgentId, version: int) -> OpenAgent:
    """The agent as it was at a version of its log."""
    return await open_agent(space.log, space.space, agent, version)


async def find_turn(space: OpenSpace, opened: OpenAgent, typed: str) -> tuple[Turn, str]:
    """The turn that somebody typed, one in view or any other of this agent, and its place.

    Raises `RefusedError` if there is none.
    """
    start, *more = await find_turns(space, opened.state, typed)
    if more:
        raise RefusedError(UnknownTurn(typed, opened.state.turns))
    for turn in opened.live.all_turns:
        if turn.prompt_ref == start.ref:
            return turn, start.place
    if start.agent != opened.state.agent:  # it is not known here what precedes it
        raise RefusedError(UnknownTurn(typed, opened.state.turns, inherits=True))
    turn = await whole_turn(space.log, space.space, start.agent, start.first)
    return turn, start.place


async def find_turns(space: OpenSpace, state: State, typed: str) -> tuple[TurnStart, ...]:
    """The turns that somebody typed: `3`, `NAME/3` or `4-9`.

    NAME can be all that `find` takes. Raises `RefusedError` if there is no such turn.
    """
    place = parse_place(typed)
    if place is not None and place.agent:
        agent = await find(space, place.agent, parent=state.parent)
        typed = str(structs.replace(place, agent=agent))
    return accepted(await find_starts(space.log, space.space, state, typed))


async def read_turn(space: OpenSpace, start: TurnStart) -> Turn:
    """A turn that was found, with all its events."""
    return await whole_turn(space.log, space.space, start.agent, start.first)


async def place_of(space: OpenSpace, state: State, turn: Turn) -> str:
    """How people name a turn in the conversation of `state`: `3`, or `NAME/3` if inherited."""
    names = await names_of(space.log, space.space, state.agent, [turn.agent])
    return turn_place(turn.agent, turn.number, names)


async def names_in(space: OpenSpace, opened: OpenAgent) -> Names:
    """How the turns in view that were inherited name their conversations."""
    agents = {turn.agent for turn in opened.live.all_turns}
    return await names_of(space.log, space.space, opened.state.agent, agents)
