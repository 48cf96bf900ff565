"""Brings the session of an agent in its program to the agent's live path.

It is done before every prompt. This does it at once after a context command, so that the program's
own list of sessions shows the same.
"""

from collections.abc import Callable

from sapwood.conversation.call import OpenSpace
from sapwood.core.ids import AgentId
from sapwood.core.program_session import ProgramSession
from sapwood.core.state import State
from sapwood.programs.agent_provider import AgentProvider
from sapwood.programs.registry import program_executor
from sapwood.turns.program_sessions import assume_history, needs_assume, options_of, session_in


def lags_behind(state: State) -> bool:
    """Whether the agent is at rest and its session has another history than the live path."""
    executor = program_executor(state.settings.model)
    if executor is None or state.open is not None:
        return False
    known = session_in(state, executor.program) is not None
    return known and needs_assume(state, executor.program)


async def assume_session(
    space: OpenSpace, provider_of: Callable[[str], AgentProvider], agent: AgentId
) -> ProgramSession | None:
    """Brings the agent's session to the live path and records it; makes one if there is none.

    Returns the session; None if no program runs the agent, a turn is open, or there is nothing to
    put into a session. Raises `SessionBusy` if the session is open elsewhere, and `Failure`.
    """
    opened = await space.dispatcher.open(agent)
    executor = program_executor(opened.state.settings.model)
    if executor is None or opened.state.open is not None:
        return None
    provider = provider_of(executor.program)
    options = options_of(opened.state, executor)
    return await assume_history(space.log, space.space, space.dispatcher, provider, opened, options)
