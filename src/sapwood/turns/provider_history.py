"""The history that the session of an agent program must have: what the view would send of it."""

import hashlib
from collections.abc import Mapping

from msgspec import structs

from sapwood.core.content import File, Text
from sapwood.core.events import Pin
from sapwood.core.ids import AgentId, Origin, Space
from sapwood.core.live_path import LivePath
from sapwood.core.program_session import NativeRows, ProgramSession
from sapwood.core.result_masks import mask_edges, stubs
from sapwood.core.state import State
from sapwood.core.turn import Turn
from sapwood.core.view.build import front_texts
from sapwood.core.view.frames import framed_prompt
from sapwood.core.view.request import Message
from sapwood.core.view.turns import messages_of, note_after
from sapwood.programs.agent_provider import History, HistoryTurn
from sapwood.turns.log import Log
from sapwood.turns.open_agent import open_state


def needs_assume(state: State, program: str = "") -> bool:
    """Whether the agent's session lacks the present history, or the agent has no session yet.

    A session of another program than `program` counts as none.
    """
    held = state.session
    if held is None or (program and held.session.program != program):
        return True
    return held.context != state.context or held.pins != pins_digest(state.pins)


def pins_digest(pins: tuple[Pin, ...]) -> str:
    """The SHA-256 of the pins as they are sent; empty if there are none."""
    if not pins:
        return ""
    return hashlib.sha256("\0".join(_framed_pin(pin) for pin in pins).encode()).hexdigest()


def history_of(
    state: State, live: LivePath, origins: Mapping[AgentId, Origin] | None = None
) -> History:
    """The ended turns of the live path, and the texts in front of them.

    `origins` are the transcripts of other imported agents whose turns are on the path, for example
    of the parent. Without its origin the rows of a recorded turn are unknown.
    """
    known = dict(origins or {})
    if state.origin is not None:
        known[state.agent] = state.origin
    mask = live.context.mask
    over = mask.over if mask else 0
    turns: list[HistoryTurn] = []
    note: Text | None = None
    for turn, edge in zip(live.turns, mask_edges(live), strict=False):
        first, *rest = messages_of(turn, edge, over)
        if note is not None:
            first = Message("user", (note, *first.parts))
        native = None if stubs(turn, edge, over) else _native(turn, known)
        turns.append(HistoryTurn(turn, native, (first, *rest)))
        note = note_after(turn)
    pins = tuple(_framed_pin(pin) for pin in state.pins)
    return History(tuple(turns), pins + tuple(text.text for text in front_texts(live)))


async def read_history(log: Log, space: Space, state: State, live: LivePath) -> History:
    """`history_of`, with the transcripts of all imported agents whose turns are on the path."""
    origins: dict[AgentId, Origin] = {}
    others = {turn.agent for turn in live.turns if turn.native and not turn.native.session.id}
    for agent in others - {state.agent}:
        origin = (await open_state(log, space, agent)).origin
        if origin is not None:
            origins[agent] = origin
    return history_of(state, live, origins)


def sent_prompt(live: LivePath) -> tuple[Text | File, ...]:
    """The prompt of the open turn as it is sent: with how the turn before it ended, if badly.

    Raises ValueError if no turn is open.
    """
    if live.open is None:
        raise ValueError("no turn is open")
    note = note_after(live.turns[-1]) if live.turns else None
    return ((note,) if note else ()) + framed_prompt(live.open.prompt)


def _native(turn: Turn, origins: Mapping[AgentId, Origin]) -> NativeRows | None:
    """The program's rows of a turn, with the session of an imported one."""
    if turn.native is None or turn.native.session.id:
        return turn.native
    origin = origins.get(turn.agent)
    if origin is None:
        return None
    session = ProgramSession(origin.source, origin.session, origin.path)
    return structs.replace(turn.native, session=session)


def _framed_pin(pin: Pin) -> str:
    return f"[Pinned by the user: {pin.name}]\n{pin.text}"
