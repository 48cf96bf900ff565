"""The context before a turn: where `/rewind TURN`, `/edit`, `/retry` and `/revert` go back to.

An own turn is in the agent's log, which has the context of then. A turn that a fork inherited is in
another log; before it, the fork sees what precedes it now.

What such a return does to the notes that wait for the next prompt.
"""

from collections.abc import Sequence

from msgspec import Struct, structs

from sapwood.core.content import Note
from sapwood.core.context import Context
from sapwood.core.events import AgentStarted
from sapwood.core.ids import AgentId, EventRef, Space, TurnRef
from sapwood.core.state import State
from sapwood.core.turn import Turn
from sapwood.core.waiting_notes import notes_in_view, notes_left_behind
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


class NotesOfReturn(Struct, frozen=True):
    """What a return does to the notes that wait for the next prompt.

    `left` wait again, and `in_view` wait now and are in a prompt of the context of the return.
    """

    left: tuple[Note, ...]
    in_view: tuple[Note, ...]


async def notes_of_return(
    log: Log, space: Space, opened: OpenAgent, context: Context, version: int
) -> NotesOfReturn:
    """The notes that change with a return to an earlier context.

    `version` is its place in the agent's log; 0 if it is in another log.
    """
    state = opened.state
    after = (await read_live(log, space, state, context=context)).turns
    gone = await _turns_left_behind(log, space, opened, context, after)
    then = (await open_state(log, space, state.agent, version)).notes if version else ()
    left = notes_left_behind(state.agent, gone, after, then)
    return NotesOfReturn(left, notes_in_view(state.notes, after))


async def _turns_left_behind(
    log: Log, space: Space, opened: OpenAgent, context: Context, after: Sequence[Turn]
) -> list[Turn]:
    """The turns that leave view, and all others between the tip and the place of the return.

    These were out of view already, but what came after the place was told after it too. What a
    bare clear took out of view is not told again.
    """
    state, place = opened.state, context.tip
    clears = [step.since or step.version for step in state.undo if step.cause == "clear"]
    cleared = max(clears, default=0)
    path = (await read_live(log, space, state, context=Context(state.context.tip, place))).turns
    if path and path[0].parent != place:  # the place is on a side branch
        branch = (await read_live(log, space, state, context=Context(place))).turns
        stays = {turn.ref for turn in branch}
        path = [turn for turn in path if turn.ref not in stays]
    path = [turn if turn.first > cleared else _cleared(turn) for turn in path]
    in_view = {turn.ref for turn in after}
    gone = {turn.ref: turn for turn in (*path, *opened.live.turns) if turn.ref not in in_view}
    return list(gone.values())


def _cleared(turn: Turn) -> Turn:
    """A turn before a bare clear: of its notes, only what tells a child that it is one stays."""
    told = [part for part in turn.prompt if isinstance(part, Note) and part.origin == "parent"]
    return structs.replace(turn, prompt=tuple(told))
