"""Brings the session of an agent's program to the live path, and records it in the log.

The log is changed first, by a context command. If a process ends before the session has followed,
the next contact sees that the session has another context and does it then.
"""

import asyncio

from sapwood.core.commands import RecordAssumed, RecordDifference
from sapwood.core.context import Context
from sapwood.core.events import SYSTEM
from sapwood.core.ids import AgentId, CommandId, Space
from sapwood.core.program_session import ProgramSession
from sapwood.core.state import State
from sapwood.programs.agent_provider import AgentProvider, Assumed, ProviderOptions
from sapwood.programs.registry import ProgramExecutor
from sapwood.turns.clock_and_ids import command_meta
from sapwood.turns.dispatch import Dispatcher, Done
from sapwood.turns.log import Log
from sapwood.turns.open_agent import OpenAgent
from sapwood.turns.provider_history import needs_assume, pins_digest, read_history


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


async def assume_history(
    log: Log,
    space: Space,
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
    lags = needs_assume(state, provider.program)
    if session is not None and not lags and not (compare and await _changes_in_place(provider)):
        return session
    history = await read_history(log, space, state, opened.live)
    if session is None and not history.turns and not history.front:
        return None
    assumed = await provider.assume(session, history, options)
    if lags or assumed.by != "nothing":
        await record_assumed(dispatcher, state, assumed)
    if assumed.difference:
        differs = RecordDifference(state.agent, assumed.difference)
        await dispatcher.dispatch(differs, command_meta(SYSTEM))
    return assumed.session


async def _changes_in_place(provider: AgentProvider) -> bool:
    info = await asyncio.to_thread(provider.prove)
    return info is None or bool(info.in_place)  # without the program, `assume` says so


async def record_assumed(
    dispatcher: Dispatcher, state: State, assumed: Assumed, context: Context | None = None
) -> None:
    """Records that a session has the history of this state, or of another context."""
    command = RecordAssumed(
        state.agent,
        assumed.session,
        assumed.by,
        state.context if context is None else context,
        assumed.rows,
        assumed.loss,
        pins_digest(state.pins),
    )
    known = session_in(state, assumed.session.program)
    if known is None or known.id != assumed.session.id:
        # The first record of a session has an id by which `session_agent` finds the agent.
        once = session_command_id(assumed.session)
        first = command_meta(SYSTEM, command=once, request=once)
        done = await dispatcher.dispatch(command, first)
        if not (isinstance(done, Done) and done.repeated):
            return
    await dispatcher.dispatch(command, command_meta(SYSTEM))


def session_command_id(session: ProgramSession) -> CommandId:
    """The id of the command that first records a session."""
    return CommandId(f"session:{session.program}:{session.id}")


async def session_agent(log: Log, space: Space, session: ProgramSession) -> AgentId | None:
    """The agent whose turns were first run in this session; None if no agent has it."""
    receipt = await log.receipt(space, session_command_id(session))
    return receipt.events[0].agent if receipt is not None and receipt.events else None
