"""Brings the session of an agent's program to the live path, and records it in the log.

The log is changed first, by a context command. If a process ends before the session has followed,
the next contact sees that the session has another context and does it then.

The history that the session of an agent program must have: what the view would send of it.
"""

import asyncio
import hashlib
from collections.abc import Mapping

from msgspec import structs

from sapwood.core.commands import RecordDifference, RecordSync
from sapwood.core.content import File, Text
from sapwood.core.context import Context
from sapwood.core.events import SYSTEM, Pin
from sapwood.core.history_size import live_stubs
from sapwood.core.ids import AgentId, CommandId, Origin, Space
from sapwood.core.live_path import LivePath
from sapwood.core.program_session import NativeRows, ProgramSession
from sapwood.core.state import State
from sapwood.core.turn import Turn
from sapwood.core.view.build import front_texts, messages_of, note_after
from sapwood.core.view.frames import framed_prompt
from sapwood.core.view.request import Message
from sapwood.programs.agent_provider import (
    AgentProvider,
    History,
    HistoryTurn,
    ProviderOptions,
    SyncResult,
)
from sapwood.programs.registry import ProgramExecutor
from sapwood.turns.clock_and_ids import command_meta
from sapwood.turns.dispatch import Dispatcher, Done
from sapwood.turns.log import Log
from sapwood.turns.open_agent import OpenAgent, open_state


def options_of(state: State, executor: ProgramExecutor) -> ProviderOptions:
    """How the program of an agent is started."""
    return ProviderOptions(
        folder=state.workspace.worktree or state.workspace.folder,
        model=executor.model,
        system=state.settings.system,
        mode=state.settings.permission_mode,
    )


def session_in(state: State, program: str) -> ProgramSession | None:
    """The agent's session in this program, if it has one there."""
    held = state.session
    return held.session if held is not None and held.session.program == program else None


async def sync_history(
    dispatcher: Dispatcher,
    provider: AgentProvider,
    opened: OpenAgent,
    options: ProviderOptions,
    *,
    compare: bool = False,
) -> ProgramSession | None:
    """Brings the agent's session to the present history and records it.

    With `compare`, also a session that has this history according to the log: a process may have
    changed the session and ended before it recorded that. The program's own rows decide then. A
    version of the program whose sessions are not changed in place is left alone: comparing could
    only write a session that nobody asked for.
    Returns the session; None if there is none and nothing to put into one. Raises `SessionBusy` if
    the session is open elsewhere, and `Failure`.
    """
    state = opened.state
    session = session_in(state, provider.program)
    lags = needs_sync(state, provider.program)
    if session is not None and not lags and not (compare and await _changes_in_place(provider)):
        return session
    history = await read_history(dispatcher.log, dispatcher.space, state, opened.live)
    if session is None and not history.turns and not history.front:
        return None
    synced = await provider.sync_session(session, history, options)
    if lags or synced.by != "nothing":
        await record_sync(dispatcher, state, synced)
    if synced.difference:
        differs = RecordDifference(state.agent, synced.difference)
        await dispatcher.dispatch(differs, command_meta(SYSTEM))
    return synced.session


async def _changes_in_place(provider: AgentProvider) -> bool:
    info = await asyncio.to_thread(provider.prove)
    return info is None or bool(info.in_place)  # without the program, `sync_session` says so


async def record_sync(
    dispatcher: Dispatcher, state: State, synced: SyncResult, context: Context | None = None
) -> None:
    """Records that a session has the history of this state, or of another context."""
    command = RecordSync(
        state.agent,
        synced.session,
        synced.by,
        state.context if context is None else context,
        synced.rows,
        synced.loss,
        pins_digest(state.pins),
    )
    known = session_in(state, synced.session.program)
    if known is None or known.id != synced.session.id:
        # The first record of a session has an id by which `session_agent` finds the agent.
        once = session_command_id(synced.session)
        first = command_meta(SYSTEM, command=once, request=once)
        done = await dispatcher.dispatch(command, first)
        if not (isinstance(done, Done) and done.repeated):
            return
    await dispatcher.dispatch(command, command_meta(SYSTEM))


async def record_path(dispatcher: Dispatcher, state: State, session: ProgramSession) -> None:
    """Records that the transcript of the agent's session has another path now."""
    held = state.session
    if held is not None:
        command = RecordSync(state.agent, session, "nothing", held.context, pins=held.pins)
        await dispatcher.dispatch(command, command_meta(SYSTEM))


def session_command_id(session: ProgramSession) -> CommandId:
    """The id of the command that first records a session."""
    return CommandId(f"session:{session.program}:{session.id}")


async def session_agent(log: Log, space: Space, session: ProgramSession) -> AgentId | None:
    """The agent whose turns were first run in this session; None if no agent has it."""
    receipt = await log.receipt(space, session_command_id(session))
    return receipt.events[0].agent if receipt is not None and receipt.events else None


def needs_sync(state: State, program: str = "") -> bool:
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
    turns: list[HistoryTurn] = []
    note: Text | None = None
    for turn, masked in zip(live.turns, live_stubs(live), strict=False):
        first, *rest = messages_of(turn, masked)
        if note is not None:
            first = Message("user", (note, *first.parts))
        native = None if masked else _native(turn, known)
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
