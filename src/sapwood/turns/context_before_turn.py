"""The context before a turn: where `/rewind TURN`, `/edit`, `/retry` and `/revert` go back to.

An own turn is in the agent's log, which has the context of then. A turn that a fork inherited is in
another log; before it, the fork sees what precedes it now.
"""

from msgspec import structs

from sapwood.core.context import Context
from sapwood.core.events import AgentStarted
from sapwood.core.ids import AgentId, EventRef, Space, TurnRef
from sapwood.core.state import State
from sapwood.core.turn import Turn
from sapwood.turns.log import Log
from sapwood.turns.open_agent import OpenAgent, open_state, read_live


async def context_before(
    log: Log, space: Space, opened: OpenAgent, turn: Turn | TurnRef
) -> Context:
    """The context as it was before a turn; before an inherited one, what precedes it in view.

    The last request before the turn stays in view, also if it is before `head`.
    """
    state = opened.state
    if turn.agent == state.agent:
        then = await open_state(log, space, state.agent, turn.first - 1)
        return then.context
    at = (turn.agent, turn.first)
    same = (each.parent for each in opened.live.turns if (each.agent, each.first) == at)
    parent = next(same, None)
    is_cut = parent is not None and parent in opened.live.cuts.turns
    cuts = None if is_cut else state.context.cuts  # it may have the last request
    context = structs.replace(state.context, tip=parent, mask=None, cuts=cuts)
    if context.request is None:
        request = await _request_to_carry(log, space, state, context, turn)
        return structs.replace(context, request=request)
    return context


async def _request_to_carry(
    log: Log, space: Space, state: State, context: Context, turn: Turn | TurnRef
) -> EventRef | None:
    """The last request before an inherited turn if it is before `head`; None if it is in view.

    After a bare clear, and before the mark from which an agent was forked, there is none.
    """
    in_view = await read_live(log, space, state, context=context)
    if any(each.is_request for each in in_view.turns):
        return None
    mark = await _mark_of_fork(log, space, state.agent, turn.agent)
    if mark is None:
        owner = await open_state(log, space, turn.agent, turn.first - 1)
        then = owner.context
    else:
        then = Context(context.tip, mark.head)
    before = await read_live(log, space, state, context=structs.replace(then, tip=context.tip))
    requests = (each.prompt_ref for each in reversed(before.turns) if each.is_request)
    return next(requests, then.request)


async def _mark_of_fork(
    log: Log, space: Space, agent: AgentId, ancestor: AgentId
) -> Context | None:
    """The context of the first fork from a mark on the way from an agent up to its ancestor."""
    while agent != ancestor:
        first = await log.read(space, agent, 1, 1)
        started = first[0].event if first else None
        if not isinstance(started, AgentStarted) or started.parent is None:
            return None
        if started.mark:
            return started.context
        agent = started.parent
    return None
