"""Opening an agent: a snapshot, the events since, and the live path. Never the whole history."""

from collections.abc import Sequence

import msgspec
from msgspec import Struct

from sapwood.core.context import Context
from sapwood.core.counting import Count
from sapwood.core.events import Recorded
from sapwood.core.evolve import evolve
from sapwood.core.ids import AgentId, Space
from sapwood.core.live import EMPTY, Live, Slice, Walk, follow
from sapwood.core.log import Snapshot
from sapwood.core.state import State
from sapwood.core.turn import fold_turn
from sapwood.runtime.log import Log

__all__ = [
    "SCHEMA",
    "SNAPSHOT_EVERY",
    "Opened",
    "advanced",
    "open_agent",
    "open_state",
    "read_live",
    "refreshed",
    "snapshot_of",
]

SCHEMA = "6"
"""Layout and meaning of snapshots; raised whenever `State` or `evolve` change."""

SNAPSHOT_EVERY = 512
"""How many events are folded again at most, when an agent or its past is opened."""

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(State)


class Opened(Struct, frozen=True):
    """An agent in memory: its state and what its context points at.

    `size` is that of the ended turns, where it was counted.
    """

    state: State
    live: Live
    size: Count | None = None

    @property
    def turn(self) -> int:
        """Where the open turn starts; 0 when none is open."""
        return self.state.open.first if self.state.open else 0


async def open_state(log: Log, space: Space, agent: AgentId, at: int | None = None) -> State:
    """The state as of version `at`, or the newest. An agent nobody started has version 0."""
    return (await _folded(log, space, agent, at))[0]


async def _folded(
    log: Log, space: Space, agent: AgentId, at: int | None
) -> tuple[State, list[Recorded]]:
    """The state, and the events that were read to reach it from a snapshot."""
    state = await _newest_snapshot(log, space, agent, at)
    since = await log.read(space, agent, state.version + 1, at)
    for recorded in since:
        state = evolve(state, recorded)
    return state, since


async def _newest_snapshot(log: Log, space: Space, agent: AgentId, at: int | None) -> State:
    """The newest state that can be read. One that cannot costs time, never truth."""
    while (snapshot := await log.snapshot(space, agent, SCHEMA, at)) is not None:
        try:
            state = _decoder.decode(snapshot.data)
        except msgspec.MsgspecError:
            state = None
        if state is not None and (state.agent, state.version) == (agent, snapshot.version):
            return state
        at = snapshot.version - 1
    return State(agent)


async def open_agent(log: Log, space: Space, agent: AgentId, at: int | None = None) -> Opened:
    """The agent as of version `at`, or the newest, with its live path."""
    state, since = await _folded(log, space, agent, at)
    return Opened(state, await read_live(log, space, state, known=since))


async def read_live(
    log: Log,
    space: Space,
    state: State,
    *,
    context: Context | None = None,
    known: Sequence[Recorded] = (),
    ahead: Sequence[Recorded] = (),
) -> Live:
    """What the agent's context points at; or another context, such as that of a mark.

    `known` are its newest events, if they were read already. `ahead` are events of this agent
    that were decided but are not in the log yet.
    """
    if state.version == 0:
        return EMPTY
    walk = Walk(state.context if context is None else context, known)
    while (slice_ := walk.wanted()) is not None:
        walk.feed(await _read(log, space, slice_, ahead))
    if state.open is None or context is not None:
        return walk.live()
    opened = Slice(state.agent, state.open.first, state.version)
    return walk.live(fold_turn(await _read(log, space, opened, ahead)))


async def _read(log: Log, space: Space, slice_: Slice, ahead: Sequence[Recorded]) -> list[Recorded]:
    agent, first, last = slice_.agent, slice_.first, slice_.last
    unstored = [r for r in ahead if r.agent == agent and first <= r.version <= last]
    stored_last = unstored[0].version - 1 if unstored else last
    stored = await log.read(space, agent, first, stored_last) if first <= stored_last else []
    return stored + unstored


async def refreshed(log: Log, space: Space, opened: Opened) -> Opened:
    """The same agent with what others have appended since."""
    news = await log.read(space, opened.state.agent, opened.state.version + 1)
    return await advanced(log, space, opened, news) if news else opened


async def advanced(log: Log, space: Space, opened: Opened, news: Sequence[Recorded]) -> Opened:
    """The agent after these events, which come next in its log, stored or not."""
    state = opened.state
    live: Live | None = opened.live
    for recorded in news:
        state = evolve(state, recorded)
        live = follow(live, recorded, state.context) if live is not None else None
    if live is None:
        live = await read_live(log, space, state, ahead=news)
    return Opened(state, live)


def snapshot_of(state: State) -> Snapshot:
    """The state as a snapshot."""
    return Snapshot(state.agent, state.version, SCHEMA, _encoder.encode(state))
