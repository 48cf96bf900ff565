"""Finds an agent by id or name, and opens it: a snapshot, the events after it, the live path.

Opening never reads the whole history.

Reads the account of a root: what its agents have spent and started, from their logs.

One query lists the agents of the root with their versions. Agents that have changed since the last
look are folded on from where they were, so a look costs one query and one small read for each agent
that did something. Agents that work at the same moment do not wait for each other: together they
can exceed a budget by one call each.
"""

from collections import OrderedDict
from collections.abc import Sequence

import msgspec
from msgspec import Struct, structs

from sapwood.core.account import Account, account_of
from sapwood.core.context import Context
from sapwood.core.events import Recorded, WordsErased
from sapwood.core.evolve import evolve
from sapwood.core.ids import AgentId, EventRef, Space, can_be_stored
from sapwood.core.live_path import EMPTY, LivePath, Slice, Walk, follow
from sapwood.core.log_values import AgentSummary, Snapshot
from sapwood.core.refusals import AmbiguousAgent, Refusal, UnknownAgent
from sapwood.core.state import State
from sapwood.core.token_count import Count
from sapwood.core.turn import Turn, fold_turn
from sapwood.core.turn_numbers import TURN_STARTS, numbered
from sapwood.turns.log import Log

PARENT = "parent"
"""The name by which an agent means its parent: a child does not know its parent's id."""

SCHEMA = "39"
"""The version of the snapshot format; raise it whenever `State`, an event or `evolve` change."""

SNAPSHOT_EVERY = 512
"""The most events that are folded again when an agent or its past is opened."""

_PAGE = 1_000

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(State)


class OpenAgent(Struct, frozen=True):
    """An agent in memory: its state and its live path.

    `size` is the size of the ended turns, if it was counted.
    """

    state: State
    live: LivePath
    size: Count | None = None

    @property
    def turn(self) -> int:
        """The version at which the open turn starts; 0 if none is open."""
        return self.state.open.first if self.state.open else 0


async def open_state(log: Log, space: Space, agent: AgentId, at: int | None = None) -> State:
    """The state at version `at`, or the newest. An agent that does not exist has version 0."""
    return (await _folded(log, space, agent, at))[0]


async def _folded(
    log: Log, space: Space, agent: AgentId, at: int | None
) -> tuple[State, list[Recorded]]:
    """The state, and the events that were read after the snapshot."""
    state = await _newest_snapshot(log, space, agent, at)
    since = await log.read(space, agent, max(1, state.version), at)
    if state.version and not await _is_of(log, space, state, since):
        state, since = State(agent), await log.read(space, agent, 1, at)
    elif state.version:
        since = since[1:]
    for recorded in since:
        state = evolve(state, recorded)
    return state, since


async def _is_of(log: Log, space: Space, state: State, events: Sequence[Recorded]) -> bool:
    """Whether a state is of the log whose events from the state's version on are these.

    It is not if its agent was erased since: another one may have got the same id. The event by
    which an agent is told of erased words has a time that the state does not keep.
    """
    if not events or not state.version:
        return False
    last = events[0]
    if not isinstance(last.event, WordsErased):
        return last.at == state.updated
    summary = await log.summary(space, state.agent)
    return summary is not None and summary.created == state.created


async def _newest_snapshot(log: Log, space: Space, agent: AgentId, at: int | None) -> State:
    """The newest snapshot that can be read. A damaged one only costs time: an older one is used."""
    while (snapshot := await log.snapshot(space, agent, SCHEMA, at)) is not None:
        try:
            state = _decoder.decode(snapshot.data)
        except msgspec.MsgspecError:
            state = None
        if state is not None and (state.agent, state.version) == (agent, snapshot.version):
            return state
        at = snapshot.version - 1
    return State(agent)


async def open_agent(log: Log, space: Space, agent: AgentId, at: int | None = None) -> OpenAgent:
    """The agent at version `at`, or the newest, with its live path."""
    state, since = await _folded(log, space, agent, at)
    return OpenAgent(state, await read_live(log, space, state, known=since))


async def read_live(
    log: Log,
    space: Space,
    state: State,
    *,
    context: Context | None = None,
    known: Sequence[Recorded] = (),
    ahead: Sequence[Recorded] = (),
) -> LivePath:
    """The live path of the agent's context, or of another `context`, such as that of a mark.

    `known` are the agent's newest events, if they were read already. `ahead` are events of the
    agent that are decided and not in the log yet.
    """
    if state.version == 0:
        return EMPTY
    walk = Walk(state.context if context is None else context, known)
    while (slice_ := walk.wanted()) is not None:
        walk.feed(await _read(log, space, slice_, ahead))
    if state.open is None or context is not None:
        return await _numbered(log, space, walk.live())
    opened = Slice(state.agent, state.open.first, state.version)
    live = walk.live(fold_turn(await _read(log, space, opened, ahead)))
    return await _numbered(log, space, live)


async def _numbered(log: Log, space: Space, live: LivePath) -> LivePath:
    """The path with the numbers of turns whose events do not have them, by counting events.

    Earlier versions did not record numbers, and an event that cannot be read has none.
    """
    unknown: dict[AgentId, list[int]] = {}
    for turn in live.all_turns:
        if not turn.number:
            unknown.setdefault(turn.agent, []).append(turn.first)
    if not unknown:
        return live
    numbers: dict[EventRef, int] = {}
    for agent, firsts in unknown.items():
        count, following = (await open_state(log, space, agent, firsts[0] - 1)).turns, firsts[0]
        while following <= firsts[-1]:
            page = await log.read(space, agent, following, firsts[-1], limit=_PAGE)
            for recorded in page:
                if recorded.kind in TURN_STARTS:
                    count += 1
                    numbers[recorded.ref] = count
            following = page[-1].version + 1

    def with_number(turn: Turn) -> Turn:
        number = turn.number or numbers.get(turn.prompt_ref, 0)
        return structs.replace(turn, number=number)

    opened = live.open and with_number(live.open)
    return structs.replace(live, turns=tuple(map(with_number, live.turns)), open=opened)


async def _read(log: Log, space: Space, slice_: Slice, ahead: Sequence[Recorded]) -> list[Recorded]:
    agent, first, last = slice_.agent, slice_.first, slice_.last
    unstored = [r for r in ahead if r.agent == agent and first <= r.version <= last]
    stored_last = unstored[0].version - 1 if unstored else last
    stored = await log.read(space, agent, first, stored_last) if first <= stored_last else []
    return stored + unstored


async def refreshed(log: Log, space: Space, opened: OpenAgent) -> OpenAgent:
    """The agent with the events that were appended after it was opened.

    An agent that was erased since is a new one. If words of another agent were erased from what it
    says, nothing of it is kept.
    """
    agent, version = opened.state.agent, opened.state.version
    found = await log.read(space, agent, version)
    if not await _is_of(log, space, opened.state, found):
        return await open_agent(log, space, agent)
    news = found[1:]
    if any(isinstance(recorded.event, WordsErased) for recorded in news):
        return await open_agent(log, space, agent)
    return await advanced(log, space, opened, news) if news else opened


async def advanced(
    log: Log, space: Space, opened: OpenAgent, news: Sequence[Recorded]
) -> OpenAgent:
    """The agent after these events, which are the next ones of its log, stored or not."""
    state = opened.state
    live: LivePath | None = opened.live
    for recorded in news:
        state = evolve(state, recorded)
        if live is not None:
            live = follow(live, numbered(recorded, state.turns), state.context)
    if live is None:
        live = await read_live(log, space, state, ahead=news)
    return OpenAgent(state, live)


def snapshot_of(state: State) -> Snapshot:
    """The state as a snapshot."""
    return Snapshot(state.agent, state.version, SCHEMA, _encoder.encode(state))


async def find_agent(
    log: Log, space: Space, typed: str, *, parent: AgentId | None = None
) -> AgentId | Refusal:
    """Finds an agent by its id, the start of its id, its name, or `parent`.

    A whole id or name is preferred to the start of an id. If several agents have the name, the one
    that is running is meant: the agents before it in the same conversation have the same name.
    `parent` is the parent of the asking agent. Returns a refusal if none or several are found.
    """
    if typed == PARENT and parent is not None:
        return parent
    found = await log.find(space, typed, limit=5) if typed and can_be_stored(typed) else []
    if not found:
        return UnknownAgent(typed)
    running = [each for each in found if each.status == "running"]
    if len(running) == 1 and all(each.name == typed for each in found):
        return running[0].agent
    if len(found) > 1:
        return AmbiguousAgent(typed, tuple(each.agent for each in found))
    return found[0].agent


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
            state if each.agent == state.agent else await self._state(each) for each in family
        ]
        return account_of(states or [state], state.agent)

    async def _state(self, now: AgentSummary) -> State:
        agent, state = now.agent, self._states.get(now.agent)
        if state is None or state.created != now.created:
            state = await open_state(self._log, self._space, agent)
        elif state.version < now.version:
            for recorded in await self._log.read(self._space, agent, state.version + 1):
                state = evolve(state, recorded)
        self._states[agent] = state
        self._states.move_to_end(agent)
        while len(self._states) > _KEPT:
            self._states.popitem(last=False)
        return state
