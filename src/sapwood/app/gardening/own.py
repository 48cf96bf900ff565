"""An own or imported agent as a session: the same value that a transcript gives."""

from collections.abc import Sequence

from sapwood.app.connection import Connection
from sapwood.app.reading import turns_of
from sapwood.core.context import Context
from sapwood.core.ids import AgentId
from sapwood.core.live import Live
from sapwood.core.session import Boundary, Session
from sapwood.core.turn import Turn
from sapwood.core.view.build import front_texts
from sapwood.runtime.opening import read_live

__all__ = ["session_of"]


async def session_of(connection: Connection, agent: AgentId) -> Session:
    """Everything that an agent has in its log, and what it inherited when it was forked."""
    opened = await connection.dispatcher.open(agent)
    state, live = opened.state, opened.live
    log, space = connection.log, connection.space
    path = await read_live(log, space, state, context=Context(state.context.tip))
    events = await log.read(space, agent)
    began = {recorded.version: recorded.at for recorded in events}
    own = list(turns_of(events))
    before = [turn for turn in path.turns if turn.agent != agent]
    on_path = {(turn.agent, turn.first) for turn in (*path.turns, *live.all_turns)}
    turns = (*before, *own)
    origin = state.origin
    return Session(
        source=origin.source if origin else "sapwood",
        id=origin.session if origin else agent,
        folder=state.workspace.folder,
        path=origin.path if origin else "",
        title=state.name,
        model=state.settings.model,
        turns=turns,
        times=tuple(began.get(turn.first, 0) if turn.agent == agent else 0 for turn in turns),
        boundaries=_boundary(live, turns),
        window=state.settings.window or None,
        updated=state.updated,
        left=tuple(i for i, turn in enumerate(turns) if (turn.agent, turn.first) not in on_path),
    )


def _boundary(live: Live, turns: Sequence[Turn]) -> tuple[Boundary, ...]:
    """Where the head stands, if anything was left behind."""
    in_view = {(turn.agent, turn.first) for turn in live.all_turns}
    after = next(
        (place for place, turn in enumerate(turns) if (turn.agent, turn.first) in in_view),
        len(turns),
    )
    summary = "\n\n".join(part.text for part in front_texts(live))
    return (Boundary(after, summary=summary),) if after or summary else ()
