"""Finds turns by their numbers, and the numbers of turns, in the log.

Each event that starts a turn has the number of the turn, and each state counts the turns so far. So
a number is looked up in a few reads, however long the conversation is. Events of versions that did
not record numbers are counted.
"""

from collections.abc import Iterable

from msgspec import Struct, structs

from sapwood.core.events import (
    Recorded,
    TurnCompleted,
    TurnFailed,
    TurnInterrupted,
    TurnRecorded,
    TurnStarted,
)
from sapwood.core.ids import AgentId, EventRef, Space
from sapwood.core.refusals import Refusal, TurnRenumbered, UnknownTurn
from sapwood.core.state import State
from sapwood.core.turn import Turn, fold_turn
from sapwood.core.turn_numbers import TURN_STARTS, parse_place, turn_place
from sapwood.turns.log import Log
from sapwood.turns.open_agent import find_agent, open_state

_PAGE = 64
_TURN_PAGE = 200
_ENDS = TurnCompleted | TurnInterrupted | TurnFailed | TurnRecorded


async def number_at(log: Log, space: Space, at: EventRef) -> int:
    """The number of the turn that an event starts or follows; 0 before the first turn."""
    for recorded in await log.read(space, at.agent, at.version, at.version):
        if isinstance(recorded.event, TurnStarted | TurnRecorded) and recorded.event.number:
            return recorded.event.number
    return (await open_state(log, space, at.agent, at.version)).turns


async def start_of(log: Log, space: Space, state: State, number: int) -> int:
    """The version at which the turn of an agent with this number starts; 0 if there is none."""
    if not 1 <= number <= state.turns:
        return 0
    # `below` turns start up to version `low`, and at least `number`, `above`, up to `high`.
    low, below, high, above = 0, 0, state.version, state.turns
    halve = False
    while high - low > _PAGE:
        share = 0.5 if halve else (number - below) / (above - below + 1)
        middle = low + 1 + int((high - low - 1) * share)
        halve = not halve
        page = await log.read(space, state.agent, middle, min(high, middle + _PAGE - 1))
        starts = await _numbered_starts(log, space, page)
        if not starts:
            before = (await open_state(log, space, state.agent, middle)).turns
            if before < number:
                low, below = page[-1].version, before
            else:
                high, above = middle - 1, before
        for version, found in starts:
            if found == number:
                return version
            if found < number:
                low, below = version, found
            else:
                high, above = version - 1, found - 1
                break
    page = await log.read(space, state.agent, low + 1, high)
    starts = [each.version for each in page if each.kind in TURN_STARTS]
    return starts[number - below - 1]


async def _numbered_starts(log: Log, space: Space, page: list[Recorded]) -> list[tuple[int, int]]:
    """The versions of the events of a page that start turns, each with the number of the turn."""
    starts = [each for each in page if each.kind in TURN_STARTS]
    if not starts:
        return []
    first = await number_at(log, space, starts[0].ref)
    return [(each.version, number) for number, each in enumerate(starts, first)]


async def whole_turn(log: Log, space: Space, agent: AgentId, first: int) -> Turn:
    """The turn that starts at a version, with all its events; it may still be open."""
    events, following, ended = list[Recorded](), first, False
    while not ended and (page := await log.read(space, agent, following, limit=_TURN_PAGE)):
        for recorded in page:
            ended = bool(events) and recorded.kind in TURN_STARTS
            if not ended:
                events.append(recorded)
                ended = isinstance(recorded.event, _ENDS)
            if ended:
                break
        following = page[-1].version + 1
    turn = fold_turn(events)
    if turn.number:
        return turn
    return structs.replace(turn, number=await number_at(log, space, events[0].ref))


class TurnStart(Struct, frozen=True):
    """Where a turn starts in the log, and how people name it, such as `3` or `NAME/3`."""

    agent: AgentId
    first: int
    place: str

    @property
    def ref(self) -> EventRef:
        """The event that starts the turn."""
        return EventRef(self.agent, self.first)


async def find_starts(
    log: Log, space: Space, state: State, typed: str
) -> tuple[TurnStart, ...] | Refusal:
    """The turns that somebody typed in the conversation of `state`: `3`, `NAME/3` or `4-9`.

    Returns a refusal if there is no such turn. If what was typed is the version at which a turn
    starts, by which earlier versions named it, the refusal has the number of the turn.
    """
    place = parse_place(typed)
    if place is None:
        return await _without_place(log, space, state, typed)
    owner = await _owner(log, space, state, place.agent)
    if isinstance(owner, Refusal):
        return owner
    if place.last > owner.turns or place.result:
        at = EventRef(owner.agent, place.first)
        is_known = place.is_turn and place.first <= owner.version
        if is_known and await _starts_turn(log, space, at):
            return await _renumbered(log, space, state, at, typed)
        return UnknownTurn(typed, owner.turns, inherits=state.parent is not None)
    names = await names_of(log, space, state.agent, [owner.agent])
    return tuple(
        [
            TurnStart(
                owner.agent,
                await start_of(log, space, owner, number),
                turn_place(owner.agent, number, names),
            )
            for number in place.numbers
        ]
    )


async def find_start(log: Log, space: Space, state: State, typed: str) -> TurnStart | Refusal:
    """The one turn that somebody typed, or why there is none."""
    found = await find_starts(log, space, state, typed)
    if isinstance(found, Refusal):
        return found
    if len(found) != 1:
        return UnknownTurn(typed, state.turns, inherits=state.parent is not None)
    return found[0]


async def _owner(log: Log, space: Space, state: State, typed: str) -> State | Refusal:
    if not typed or typed == state.agent:
        return state
    found = await find_agent(log, space, typed, parent=state.parent)
    return found if isinstance(found, Refusal) else await open_state(log, space, found)


async def _without_place(log: Log, space: Space, state: State, typed: str) -> Refusal:
    """The refusal of a text that is no place; one with a version has the number instead."""
    name, _, version = typed.removeprefix("#").rpartition(":")
    owner = await _owner(log, space, state, name) if name and version.isdecimal() else None
    if isinstance(owner, State) and len(version) < 19 and 0 < int(version) <= owner.version:
        return await _renumbered(log, space, state, EventRef(owner.agent, int(version)), typed)
    return UnknownTurn(typed, state.turns, inherits=state.parent is not None)


async def _starts_turn(log: Log, space: Space, at: EventRef) -> bool:
    found = await log.read(space, at.agent, at.version, at.version)
    return any(each.kind in TURN_STARTS for each in found)


async def _renumbered(log: Log, space: Space, state: State, at: EventRef, typed: str) -> Refusal:
    number = await number_at(log, space, at)
    if not number:
        return UnknownTurn(typed, state.turns, inherits=state.parent is not None)
    names = await names_of(log, space, state.agent, [at.agent])
    return TurnRenumbered(typed, turn_place(at.agent, number, names))


async def names_of(
    log: Log, space: Space, shown: AgentId, agents: Iterable[AgentId]
) -> dict[AgentId, str]:
    """How places in the conversation `shown` name these agents.

    By the name where it is one word that finds the agent, otherwise by the id.
    """
    found: dict[AgentId, str] = {}
    for agent in dict.fromkeys(agents):
        if agent != shown:
            summary = await log.summary(space, agent)
            name = summary.name if summary else ""
            fits = len(name.split()) == 1 and "/" not in name
            is_found = fits and await find_agent(log, space, name) == agent
            found[agent] = name if is_found else agent
    return found
