"""An own or imported agent as the subject of an errand: the same value that a transcript gives."""

from collections.abc import Sequence

from sapwood.app.connection import Connection
from sapwood.app.gardening.subject import Subject
from sapwood.app.reading import turns_of
from sapwood.core.budget import budget_of
from sapwood.core.context import Context
from sapwood.core.counting import ZERO, Count
from sapwood.core.events import Recorded
from sapwood.core.ids import AgentId
from sapwood.core.live import Live
from sapwood.core.session import Boundary, Session
from sapwood.core.state import State
from sapwood.core.turn import Turn
from sapwood.core.view.build import front_texts
from sapwood.runtime.opening import read_live

__all__ = ["subject_of"]


async def subject_of(connection: Connection, agent: AgentId) -> Subject:
    """Everything that an agent has in its log, and what it inherited when it was forked."""
    opened = await connection.dispatcher.open(agent)
    state, live = opened.state, opened.live
    log, space = connection.log, connection.space
    path = await read_live(log, space, state, context=Context(state.context.tip))
    session = _session(state, live, path, await log.read(space, agent))
    counter = connection.counter_for(state.settings.model)
    budget = budget_of(state, live, counter)
    focus = sorted(state.focus, key=lambda each: each.priority)
    return Subject(
        session,
        total=budget.total,
        beside={
            "system": counter.count(state.settings.system),
            "tools": Count(state.offered, exact=False),
            "pins": sum((counter.count(pin.text) for pin in state.pins), ZERO),
        },
        focus=tuple(each.topic for each in focus),
        background=state.background,
    )


def _session(state: State, live: Live, path: Live, events: Sequence[Recorded]) -> Session:
    began = {recorded.version: recorded.at for recorded in events}
    inherited = [turn for turn in path.turns if turn.agent != state.agent]
    turns = (*inherited, *turns_of(events))
    on_path = {_place(turn) for turn in (*path.turns, *live.all_turns)}
    origin = state.origin
    return Session(
        source=origin.source if origin else "sapwood",
        id=origin.session if origin else state.agent,
        folder=state.workspace.folder,
        path=origin.path if origin else "",
        title=state.name,
        model=state.settings.model,
        turns=turns,
        times=tuple(began.get(t.first, 0) if t.agent == state.agent else 0 for t in turns),
        boundaries=_boundary(live, turns),
        window=state.settings.window or None,
        updated=state.updated,
        left=tuple(i for i, turn in enumerate(turns) if _place(turn) not in on_path),
    )


def _boundary(live: Live, turns: Sequence[Turn]) -> tuple[Boundary, ...]:
    """Where the head stands, if anything was left behind."""
    in_view = {_place(turn) for turn in live.all_turns}
    places = [index for index, turn in enumerate(turns) if _place(turn) in in_view]
    after = places[0] if places else len(turns)
    summary = "\n\n".join(part.text for part in front_texts(live))
    return (Boundary(after, summary=summary),) if after or summary else ()


def _place(turn: Turn) -> tuple[AgentId, int]:
    return turn.agent, turn.first
