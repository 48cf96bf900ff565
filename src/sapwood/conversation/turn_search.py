"""Searches everything said: the one search behind the command line, screens, tools and the API.

The log finds and ranks the turns. Here the filters are applied that need the whole turn, and the
conversations get their names.
"""

from collections.abc import Sequence

from msgspec import structs

from sapwood.conversation.agent_lookup import find
from sapwood.conversation.call import OpenSpace
from sapwood.core.content import RecordedReply, ToolCall
from sapwood.core.events import (
    NoteDeclared,
    Recorded,
    ReplyAdded,
    TurnRecorded,
    TurnStarted,
)
from sapwood.core.ids import AgentId
from sapwood.core.log_values import SearchHit
from sapwood.core.search_query import SearchQuery, read_query
from sapwood.core.search_ranking import grouped
from sapwood.core.turn import Turn, recorded_turn
from sapwood.core.turn_numbers import TURN_STARTS, turn_place
from sapwood.turns.turn_lookup import names_of, number_at

_PAGE, _MAX_LOOKED_AT = 100, 600
_MAX_EVENTS = 500
_DECIDED = "decision decided decide agreed entschieden beschlossen decidido acordado 决定"


async def search_turns(
    space: OpenSpace,
    query: str,
    *,
    agents: Sequence[AgentId] | None = None,
    limit: int = 20,
    offset: int = 0,
    shown: AgentId | None = None,
) -> list[SearchHit]:
    """The turns that answer a query, those of one conversation together, best first.

    `agents` restricts the search. The turns of the conversation `shown` are named by their number
    alone, all others with the name of their conversation too. Raises `RefusedError` if a filter
    names an unknown agent.
    """
    asked = read_query(query)
    if asked.agents:
        agents = await _named(space, asked.agents, agents)
    if asked.filters_turns:
        found = await _filtered(space, query, asked, agents, limit + offset)
        found = found[offset:]
    else:
        found = await space.log.search(
            space.space, query, agents=agents, limit=limit, offset=offset
        )
    names: dict[AgentId, str] = {}
    for hit in found:
        if hit.ref.agent not in names:
            summary = await space.log.summary(space.space, hit.ref.agent)
            names[hit.ref.agent] = summary.name if summary else ""
    placed = await with_places(space, found, shown)
    return grouped(structs.replace(hit, name=names[hit.ref.agent]) for hit in placed)


async def with_places(
    space: OpenSpace, hits: Sequence[SearchHit], shown: AgentId | None = None
) -> list[SearchHit]:
    """The hits with their turns as people name them."""
    log, agents = space.log, [hit.ref.agent for hit in hits]
    names = await names_of(log, space.space, shown or AgentId(""), agents)
    placed: list[SearchHit] = []
    for hit in hits:
        agent = hit.ref.agent
        [first] = await log.read(space.space, agent, hit.turn, hit.turn)
        if first.kind in TURN_STARTS:
            number = await number_at(log, space.space, first.ref)
            hit = structs.replace(hit, place=turn_place(agent, number, names))
        placed.append(hit)
    return placed


async def _named(
    space: OpenSpace, names: Sequence[str], among: Sequence[AgentId] | None
) -> list[AgentId]:
    """The agents with these names. A restricted search learns nothing about other agents."""
    if among is None:
        return [await find(space, name) for name in names]
    known = {agent: await space.log.summary(space.space, agent) for agent in among}
    return [
        agent
        for agent, summary in known.items()
        if agent in names or (summary and summary.name in names)
    ]


async def _filtered(
    space: OpenSpace,
    query: str,
    asked: SearchQuery,
    agents: Sequence[AgentId] | None,
    wanted: int,
) -> list[SearchHit]:
    """The best turns that pass the filters, among those that have the words or the filters' own."""
    decided = _DECIDED if asked.decisions and not asked.keys else ""
    words = " ".join((query, *asked.tools, *asked.files, decided))
    passed: list[SearchHit] = []
    for offset in range(0, _MAX_LOOKED_AT, _PAGE):
        page = await space.log.search(space.space, words, agents=agents, limit=_PAGE, offset=offset)
        passed += [hit for hit in page if passes(asked, await _turn_events(space, hit))]
        if len(page) < _PAGE or len(passed) >= wanted:
            break
    return passed[:wanted]


async def _turn_events(space: OpenSpace, hit: SearchHit) -> list[Recorded]:
    """The events of the turn of a hit, up to a limit."""
    read = await space.log.read(space.space, hit.ref.agent, hit.turn, limit=_MAX_EVENTS)
    following = (place for place, each in enumerate(read) if place and each.kind in TURN_STARTS)
    return read[: next(following, len(read))] if read[0].kind in TURN_STARTS else read[:1]


def passes(query: SearchQuery, events: Sequence[Recorded]) -> bool:
    """Whether the turn of these events passes the filters of a query."""
    calls = [call for each in events for call in _calls(each)]
    names = {call.name.casefold() for call in calls}
    arguments = "\n".join(call.args for call in calls).casefold()
    return (
        all(tool.casefold() in names for tool in query.tools)
        and all(file.casefold() in arguments for file in query.files)
        and (not query.decisions or any(map(_decides, events)))
    )


def _calls(recorded: Recorded) -> list[ToolCall]:
    match recorded.event:
        case ReplyAdded(parts):
            return [part for part in parts if isinstance(part, ToolCall)]
        case TurnRecorded(items=items):
            replies = (item for item in items if isinstance(item, RecordedReply))
            return [part for reply in replies for part in reply.parts if isinstance(part, ToolCall)]
        case _:
            return []


def _decides(recorded: Recorded) -> bool:
    """Whether an event declares a decision, or its prompt has one by the rules of the ledger."""
    match recorded.event:
        case NoteDeclared("decision"):
            return True
        case TurnRecorded():
            turn = recorded_turn(recorded.agent, recorded.version, recorded.event)
        case TurnStarted(parent, prompt):
            turn = Turn(recorded.agent, recorded.version, parent, prompt)
        case _:
            return False
    from sapwood.analysis.language.sentences import turn_sentences
    from sapwood.analysis.ledger.decisions import DecisionTracker

    tracker = DecisionTracker()
    tracker.add(turn_sentences(turn, 1))
    return bool(tracker.decisions())
