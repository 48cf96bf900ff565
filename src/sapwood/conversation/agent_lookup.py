"""Finds the agent that somebody typed, and refuses with the nearest names when there is none.

Finds a turn by the version at which it starts, and the context before it.
"""

from msgspec import structs

from sapwood.conversation.call import OpenSpace
from sapwood.core.context import Context
from sapwood.core.errors import RefusedError
from sapwood.core.events import (
    Recorded,
    TurnCompleted,
    TurnFailed,
    TurnInterrupted,
    TurnRecorded,
    TurnStarted,
)
from sapwood.core.ids import AgentId, EventRef, TurnRef
from sapwood.core.refusals import AmbiguousAgent, Refusal, UnknownAgent, UnknownTurn, nearest
from sapwood.core.state import State
from sapwood.core.turn import Turn, fold_turn, recorded_turn
from sapwood.programs.registry import programs_with
from sapwood.programs.transcripts.transcript_events import imported_agent_id
from sapwood.turns.open_agent import PARENT, OpenAgent, find_agent, open_agent, open_state

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


_MAX_DIGITS = 18
_PAGE = 200


async def agent_at(space: OpenSpace, agent: AgentId, version: int) -> OpenAgent:
    """The agent as it was at a version of its log."""
    return await open_agent(space.log, space.space, agent, version)


async def find_turn(space: OpenSpace, opened: OpenAgent, typed: str) -> Turn:
    """The turn that starts at the typed version: one in view, or any other of this agent's log.

    Raises `RefusedError` if there is none.
    """
    live, state = opened.live, opened.state
    digits = typed.removeprefix("#")
    first = int(digits) if digits.isdecimal() and len(digits) <= _MAX_DIGITS else 0
    for turn in live.all_turns:
        if turn.first == first:
            return turn
    if 0 < first <= state.version:
        [started] = await space.log.read(space.space, state.agent, first, first)
        if isinstance(started.event, TurnRecorded):
            return recorded_turn(state.agent, first, started.event)
        if isinstance(started.event, TurnStarted):
            return fold_turn([started])
    raise RefusedError(UnknownTurn(typed, tuple(str(turn.first) for turn in live.all_turns)))


async def context_before(space: OpenSpace, opened: OpenAgent, turn: TurnRef) -> Context:
    """The context as it was before a turn.

    A turn that a fork inherited is in another log; before it, the fork sees what precedes it now.
    """
    state = opened.state
    if turn.agent == state.agent:
        then = await open_state(space.log, space.space, state.agent, turn.first - 1)
        return then.context
    parent = next((each.parent for each in opened.live.turns if each.first == turn.first), None)
    return structs.replace(state.context, tip=parent, mask=None)


async def turn_at(space: OpenSpace, at: EventRef) -> Turn | None:
    """The ended turn to which an event belongs, whole; None if there is none."""
    started = await _start_of_turn(space, at)
    if started is None:
        return None
    if isinstance(started.event, TurnRecorded):
        return recorded_turn(at.agent, started.version, started.event)
    events, following = list[Recorded](), started.version
    while page := await space.log.read(space.space, at.agent, following, limit=_PAGE):
        for recorded in page:
            events.append(recorded)
            if isinstance(recorded.event, TurnCompleted | TurnInterrupted | TurnFailed):
                return fold_turn(events) if recorded.version >= at.version else None
        following = page[-1].version + 1
    return None


async def _start_of_turn(space: OpenSpace, at: EventRef) -> Recorded | None:
    last = at.version
    while last > 0:
        page = await space.log.read(space.space, at.agent, 1, last, limit=_PAGE, backward=True)
        for recorded in page:
            if isinstance(recorded.event, TurnStarted):
                return recorded
            if isinstance(recorded.event, TurnRecorded):
                return recorded if recorded.version == at.version else None
        last = page[-1].version - 1 if page else 0
    return None
